import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import {
  backendStops,
  folder as deployment,
  gatewayStops,
  namesReadBy,
  read,
} from '../support/deployment.ts'
import { root } from '../support/process.ts'
import { folderOf } from '../support/folder.ts'

const services = ['gateway', 'backend'] as const
const fileOf = (service: string) => `tollgate-${service}.service`

/** The settings of a unit, by section and name; a name may occur more than once. */
function settingsOf(text: string): Map<string, string[]> {
  const settings = new Map<string, string[]>()
  let section = ''
  for (const line of text.split('\n')) {
    if (/^(?:#|$)/.test(line)) continue
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (name === '') continue
    const key = `${section}.${name}`
    settings.set(key, [...(settings.get(key) ?? []), value])
  }
  return settings
}

const onPath = (tool: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, tool)))

const skip = !onPath('systemd-analyze') && 'NOT TRIED: this machine has no systemd-analyze'

t.test('systemd finds nothing wrong with the units', { skip }, (t) => {
  const folder = folderOf(t)
  const verify = (text: string, name: string): string => {
    const file = join(folder, name)
    // The program is elsewhere on this machine.
    const here = text.replaceAll('/usr/bin/node /opt/tollgate/', `${process.execPath} ${root}`)
    writeFileSync(file, here)
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', file], {
      env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` },
      encoding: 'utf8',
    })
    // Complaints about this machine's other units don't matter.
    const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('tollgate'))
    return [...(status === 0 ? [] : [`exit code ${status}`]), ...said].join('\n')
  }
  for (const service of services) {
    const text = read(fileOf(service))
    t.equal(verify(text, fileOf(service)), '', service)
    const misspelt = text.replace('TimeoutStopSec', 'TimeoutStoppSec')
    t.match(verify(misspelt, 'tollgate-x.service'), /TimeoutStoppSec/, 'as it would say it')
  }
  t.end()
})

const [, version, exposure] = /systemd (\d+):.*\(exposure ([\d.]+)\)/.exec(read('README.md')) ?? []

t.test('systemd finds the units as exposed as the README says', { skip }, (t) => {
  const analyze = (...args: string[]) =>
    spawnSync('systemd-analyze', args, { encoding: 'utf8' }).stdout
  if (analyze('--version').startsWith(`systemd ${version} `)) {
    for (const service of services) {
      const said = analyze('security', '--offline=true', join(deployment, fileOf(service)))
      t.match(said, `Overall exposure level for ${fileOf(service)}: ${exposure} `)
    }
  } else t.comment(`systemd ${version} is not here, and each version has checks of its own`)
  t.end()
})

for (const service of services) {
  const settings = settingsOf(read(fileOf(service)))
  const said = (name: string) => settings.get(`Service.${name}`) ?? []
  const is = (name: string, value: string) => [name, said(name), [value]] as const

  t.test(`${service}: the unit runs the checkout, with an environment that it reads`, (t) => {
    const [program, file = '', ...more] = said('ExecStart')[0]?.split(' ') ?? []
    t.strictSame([program, more], ['/usr/bin/node', []])
    t.ok(existsSync(join(root, file.replace('/opt/tollgate/', ''))), file)
    const known = [...namesReadBy(service), 'NODE_COMPILE_CACHE', 'MALLOC_ARENA_MAX']
    for (const pair of said('Environment')) t.ok(known.includes(pair.split('=')[0] ?? ''), pair)
    const state = `tollgate-${service}`
    for (const [name, got, expected] of [
      is('EnvironmentFile', `/etc/tollgate/${service}.env`),
      is('StateDirectory', state),
      is('WorkingDirectory', `%S/${state}`),
      is('CacheDirectory', state),
    ])
      t.strictSame(got, expected, name)
    t.strictSame(said('Environment'), [
      service === 'backend'
        ? `DATABASE=%S/${state}/animals.db`
        : 'TOLLGATE_CONFIG=/etc/tollgate/gateway.yaml',
      `NODE_COMPILE_CACHE=%C/${state}`,
      ...(service === 'gateway' ? ['MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072'] : []),
    ])
    t.end()
  })

  t.test(`${service}: there is time to stop, and a reason to start again`, (t) => {
    const needed = service === 'gateway' ? gatewayStops(read('../gateway.yaml')) : backendStops
    t.ok(Number(said('TimeoutStopSec')[0]) > needed, `longer than ${needed} s`)
    t.strictSame(said('Restart'), ['on-failure'])
    t.strictSame(said('RestartPreventExitStatus'), ['2'], 'what main.ts exits with')
    t.strictSame(said('KillSignal'), [], 'SIGTERM, which it listens to')
    const reload = service === 'gateway' ? ['/bin/kill -HUP $MAINPID'] : []
    t.strictSame(said('ExecReload'), reload, 'the one that follows a configuration')
    t.strictSame(settings.get('Install.WantedBy'), ['multi-user.target'])
    t.end()
  })

  t.test(`${service}: the unit gives no rights that it doesn’t need`, (t) => {
    const dynamic = service === 'backend' ? is('DynamicUser', 'yes') : is('User', 'tollgate')
    for (const [name, got, expected] of [
      dynamic,
      is('NoNewPrivileges', 'yes'),
      is('CapabilityBoundingSet', ''),
      is('ProtectSystem', 'strict'),
      is('ProtectHome', 'yes'),
      is('PrivateTmp', 'yes'),
      is('PrivateDevices', 'yes'),
      is('StateDirectoryMode', '0700'),
    ])
      t.strictSame(got, expected, name)
    t.strictSame(said('MemoryDenyWriteExecute'), [], 'V8 could not compile')
    t.end()
  })
}

t.test('the command line runs as the gateway does, with its environment', (t) => {
  const script = join(deployment, 'tollgate')
  t.ok(statSync(script).mode & 0o100, 'it can be run')
  const bin = folderOf(t, { 'systemd-run': '#!/bin/sh\nprintf "%s\\n" "$@"\n', id: '' })
  chmodSync(join(bin, 'systemd-run'), 0o755)
  const run = (user: number, args: string[], env: Record<string, string> = {}) => {
    writeFileSync(join(bin, 'id'), `#!/bin/sh\necho ${user}\n`, { mode: 0o755 })
    chmodSync(join(bin, 'id'), 0o755)
    return spawnSync('/bin/sh', [script, ...args], {
      ...{ cwd: bin, encoding: 'utf8', env: { PATH: `${bin}${delimiter}/bin`, ...env } },
    })
  }
  t.match(run(1000, ['keys', 'list']), {
    ...{ status: 2, stdout: '', stderr: /^tollgate: only root may .*: sudo tollgate keys list\n$/ },
  })
  const { status, stdout } = run(0, ['keys', 'import', 'id', 'a b', '--name', "it's"], {
    SUDO_USER: 'alice',
  })
  t.equal(status, 0)
  const words = stdout.trimEnd().split('\n')
  const unit = settingsOf(read(fileOf('gateway')))
  const of = (name: string) => unit.get(`Service.${name}`)?.[0] ?? ''
  for (const word of [
    `--uid=${of('User')}`,
    `--working-directory=${of('WorkingDirectory').replace('%S', '/var/lib')}`,
    `--property=EnvironmentFile=${of('EnvironmentFile')}`,
    `--setenv=${of('Environment')}`,
    '--setenv=TOLLGATE_BY=alice',
    '--setenv=NODE_COMPILE_CACHE=/var/cache/tollgate-gateway',
  ])
    t.ok(words.includes(word), word)
  t.strictSame(words.slice(words.indexOf('/usr/bin/node')), [
    ...['/usr/bin/node', '/opt/tollgate/gateway/office/cli/main.ts', 'keys', 'import'],
    ...[join(bin, 'id'), 'a b', '--name', "it's"],
  ])
  t.end()
})
