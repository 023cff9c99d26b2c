/** Two examples for the help of each command, by its name: how it is mostly called, and what else it can do. */
export const examples: Readonly<Record<string, readonly [string, string]>> = {
  explain: ['tollgate explain 6d1f0c2ab34e5f67-2s', 'tollgate explain Acme --days 1'],
  'requests show': [
    'tollgate requests show 6d1f0c2ab34e5f67-2s',
    'tollgate requests show 6d1f0c2ab34e5f67-2s --json',
  ],
  now: ['tollgate now', 'tollgate now --range 15m --json'],
  'keys create': [
    'tollgate keys create --plan free --name Acme',
    'tollgate keys create --plan pro --name "Acme, CI" --month-from 15',
  ],
  'keys create --from': [
    'tollgate keys create --from people.csv > tokens.csv',
    'tollgate keys create --from people.csv --plan free --expires 2030-12-31',
  ],
  'keys list': [
    'tollgate keys list --search acme',
    'tollgate keys list --sort refusals --limit 20',
  ],
  'keys show': ['tollgate keys show Acme', 'tollgate keys show k3yVb0TQnW8d --json'],
  'keys find': ['tollgate keys find < token.txt', 'tollgate keys find --json < token.txt'],
  'keys timeline': [
    'tollgate keys timeline Acme',
    'tollgate keys timeline Acme --from 2026-11-20 --to 2026-11-21',
  ],
  'keys change': [
    'tollgate keys change Acme --per-minute 600 --until 2030-12-01T08:00Z',
    'tollgate keys change --account acme --plan pro --dry-run',
  ],
  'keys rotate': ['tollgate keys rotate Acme', 'tollgate keys rotate Acme --overlap 0'],
  'keys revoke': [
    'tollgate keys revoke Acme --yes',
    'tollgate keys revoke --account acme --dry-run',
  ],
  'keys disable': ['tollgate keys disable Acme', 'tollgate keys disable --account acme --dry-run'],
  'keys enable': ['tollgate keys enable Acme', 'tollgate keys enable --account acme --yes'],
  'keys import': [
    'tollgate keys import keys.csv --dry-run',
    'tollgate keys import keys.csv --skip-existing',
  ],
  'jwt list': ['tollgate jwt list', 'tollgate jwt list --json'],
  'jwt check': ['tollgate jwt check - < token.txt', 'tollgate jwt check --json < token.txt'],
  'bans list': ['tollgate bans list', 'tollgate bans list --json'],
  'bans lift': ['tollgate bans lift Acme', 'tollgate bans lift k3yVb0TQnW8d --by alice'],
  'bans set': [
    'tollgate bans set Acme --for 30m',
    "tollgate bans set Acme --for 7d --note 'ticket 7' --by alice",
  ],
  'quota show': ['tollgate quota show Acme', 'tollgate quota show Acme --json'],
  'quota reset': ['tollgate quota reset Acme', 'tollgate quota reset Acme --by alice'],
  'quota top-up': [
    'tollgate quota top-up Acme 5000 --id invoice-17',
    'tollgate quota top-up Acme --take 500 --id credit-3 --note "sold twice"',
  ],
  'quota top-ups': ['tollgate quota top-ups Acme', 'tollgate quota top-ups k3yVb0TQnW8d --json'],
  'quota grant': [
    'tollgate quota grant Acme --day 5000 --note "runaway job"',
    'tollgate quota grant Acme --month 50000 --by alice',
  ],
  'quota month': [
    'tollgate quota month Acme --from 15',
    'tollgate quota month k3yVb0TQnW8d --from 1 --by alice',
  ],
  'usage export': [
    'tollgate usage export --month 2026-11 --csv',
    'tollgate usage export --from 2026-11-20 --by route',
  ],
  usage: ['tollgate usage', 'tollgate usage Acme --days 7'],
  audit: ['tollgate audit --limit 20', 'tollgate audit --key Acme --json'],
  'plans list': ['tollgate plans list', 'tollgate plans list --json'],
  'plans preview': [
    'tollgate plans preview free --per-minute 30',
    'tollgate plans preview free --per-day 500 --days 30 --csv',
  ],
  'plans demand': ['tollgate plans demand free', 'tollgate plans demand free --days 7'],
  'shadow report': ['tollgate shadow report', 'tollgate shadow report --plan free --csv'],
  'upstream check': [
    'tollgate upstream check http://10.0.0.9:8090',
    'tollgate upstream check http://10.0.0.9:8090 --upstream animals --json',
  ],
  'upstream compare': [
    'tollgate upstream compare http://10.0.0.9:8090',
    'tollgate upstream compare http://10.0.0.9:8090 --share 20% --for 1h',
  ],
  'upstream swap status': [
    'tollgate upstream swap status',
    'tollgate upstream swap status animals --wait 2h',
  ],
  'upstream swap pause': [
    'tollgate upstream swap pause animals',
    'tollgate upstream swap pause animals --by alice',
  ],
  'upstream swap resume': [
    'tollgate upstream swap resume animals',
    'tollgate upstream swap resume animals --by alice',
  ],
  'upstream swap back': [
    'tollgate upstream swap back animals',
    'tollgate upstream swap back animals --by alice',
  ],
  'upstream swap finish': [
    'tollgate upstream swap finish animals',
    'tollgate upstream swap finish animals --by alice',
  ],
  'upstream list': ['tollgate upstream list', 'tollgate upstream list --json'],
  gateways: ['tollgate gateways', 'tollgate gateways --json'],
  'notices list': ['tollgate notices list', 'tollgate notices list --failed --limit 20'],
  'notices test': ['tollgate notices test', 'tollgate notices test --json'],
  'deprecations report': [
    'tollgate deprecations report',
    'tollgate deprecations report --days 7 --csv',
  ],
  'deprecations days': ['tollgate deprecations days', 'tollgate deprecations days --json'],
  'extensions list': ['tollgate extensions list', 'tollgate extensions list --days 7'],
  completion: [
    'tollgate completion bash > tollgate.bash',
    'tollgate completion fish > tollgate.fish',
  ],
  prove: [
    'tollgate prove https://api.example/v1/pets --limit 60',
    "tollgate prove https://api.example/ --limit 9 --header 'X-Api-Key: abc' --yes",
  ],
  'config check': [
    'tollgate config check new.yaml',
    'tollgate config check new.yaml --unset ok --format github',
  ],
  'config show': ['tollgate config show', 'tollgate config show new.yaml --json'],
  'config diff': [
    'tollgate config diff new.yaml',
    'tollgate config diff new.yaml --against gateway.yaml',
  ],
  'config set': [
    'tollgate config set plans.free.perMonth 9000 --diff',
    'tollgate config set plans.free.perMonth 9000 gateway.yaml > new.yaml',
  ],
  'config running': ['tollgate config running', 'tollgate config running --json'],
  'config reload': ['tollgate config reload', 'tollgate config reload --json'],
  'config edit': [
    `tollgate config edit --set '{ "plans.free.perMonth": 9000 }'`,
    `tollgate config edit --set '{ "plans.free.perMonth": 9000 }' --json`,
  ],
  'config file': ['tollgate config file', 'tollgate config file > gateway.yaml'],
  'config save': [
    'tollgate config save new.yaml --over 5299f4425792',
    'tollgate config save new.yaml --over 5299f4425792 --json',
  ],
  'store dump': [
    'tollgate store dump --to /backups/monday.dump',
    'tollgate store dump > monday.dump',
  ],
  'store load': [
    'tollgate store load /backups/monday.dump',
    'tollgate store load --config other.yaml < monday.dump',
  ],
  'store copy': [
    'tollgate store copy --to redis://redis:6379 --dry-run',
    'tollgate store copy --from data/gateway.db --live',
  ],
  'store backup': [
    'tollgate store backup /backups/monday.db',
    'tollgate store backup /backups/monday.db --config other.yaml',
  ],
}
