import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Shell } from '../../gateway/office/operations/shells.ts'
import { runCommand } from '../support/command.ts'
import { configFor } from '../support/gateway.ts'
import { root } from '../support/process.ts'

/** Where `npm run test:all` has found or put them; empty where they can't be had. */
const { ZSH_BIN: zsh, FISH_BIN: fish } = process.env

const folder = mkdtempSync(join(tmpdir(), 'completion-'))
t.teardown(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'plans and keys.csv'), '')
// What shells ask while they complete.
const main = join(root, 'gateway/office/cli/main.ts')
const program = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`
writeFileSync(join(folder, 'tollgate'), program, { mode: 0o755 })
writeFileSync(join(folder, 'gateway.yaml'), configFor('http://127.0.0.1:1', 'file: gateway.db'))

/** The offers for some words, of which the last one is being written. */
const cases: readonly (readonly [words: readonly string[], offers: readonly string[]])[] = [
  [['ke'], ['keys']],
  [['keys', 'cr'], ['create']],
  [
    ['keys', 'list', '--sta'],
    ['--standing', '--state'],
  ],
  [
    ['keys', 'list', '--state', ''],
    ['active', 'disabled', 'expired', 'revoked'],
  ],
  [['--config', 'x.yaml', 'upstream', 'swap', 's'], ['status']],
  [['--json', 'keys', '--plan', 'keys', 'rev'], ['revoke']],
  [['keys', 'create', '--from', 'plans'], ['plans and keys.csv']],
  [['config', 'check', '--format', 'github', '--un'], ['--unset']],
  [['config', 'check', '--env-file', 'plans'], ['plans and keys.csv']],
  [['completion', 'b'], ['bash']],
  [['--v'], ['--version']],
  [['keys', 'show', 'Ac'], []],
  [['keys', 'create', '--plan', 'fr'], ['free']],
  [['plans', 'preview', 'p'], ['pro']],
]

async function scriptOf(shell: Shell): Promise<string> {
  const { code, stdout } = await runCommand(['completion', shell], {})
  t.equal(code, 0)
  return stdout
}

const environment = {
  ...process.env,
  HOME: folder,
  PATH: `${folder}:${process.env['PATH']}`,
  TOLLGATE_CONFIG: join(folder, 'gateway.yaml'),
}

/** Has a shell run a script in the folder; gives a line for each case. */
function linesOf(program: string, args: readonly string[]): string[] {
  const options = { cwd: folder, env: environment, timeout: 60_000 }
  return execFileSync(program, args, { ...options, encoding: 'utf8' })
    .trimEnd()
    .split('\n')
}

function sorted(line = ''): string[] {
  return line.split('\t').filter(Boolean).sort()
}

t.test('bash offers what fits', async (t) => {
  const tries = cases.map(([words]) => `try tollgate ${words.map(quoted).join(' ')}`)
  const script = `${await scriptOf('bash')}
try() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
  _tollgate
  printf '%s\t' "\${COMPREPLY[@]}"; echo
}
${tries.join('\n')}
try tollgate keys list --state = re
try tollgate keys list --state =`
  writeFileSync(join(folder, 'try.bash'), script)
  const lines = linesOf('bash', ['try.bash'])
  for (const [i, [words, offers]] of cases.entries()) {
    t.strictSame(sorted(lines[i]), [...offers].sort(), words.join(' '))
  }
  t.strictSame(sorted(lines.at(-2)), ['revoked'], 'behind =, which bash takes for a word')
  t.equal(sorted(lines.at(-1)).length, 4)
})

t.test('fish offers what fits', async (t) => {
  if (!fish) return t.pass('no fish can be had here')
  const tries = cases.map(([words]) => `try ${quoted(`tollgate ${words.join(' ')}`)}`)
  const script = `
if set -q UNPACKED; set fish_function_path $UNPACKED/usr/share/fish/functions; end
${await scriptOf('fish')}
function try
  printf '%s\\t' (complete -C $argv[1] | string replace -r '\\t.*' '')
  echo
end
${tries.join('\n')}
try 'tollgate keys list --state=re'`
  writeFileSync(join(folder, 'try.fish'), script)
  const lines = linesOf(fish, ['--no-config', 'try.fish'])
  for (const [i, [words, offers]] of cases.entries()) {
    t.strictSame(sorted(lines[i]), [...offers].sort(), words.join(' '))
  }
  t.strictSame(sorted(lines.at(-1)), ['--state=revoked'])
})

t.test('zsh offers what fits', async (t) => {
  if (!zsh) return t.pass('no zsh can be had here')
  writeFileSync(join(folder, 'tollgate.zsh'), await scriptOf('zsh'))
  // Collects the words to insert, in place of a terminal that shows them.
  const tries = cases.map(([words]) => `try tollgate ${words.map(quoted).join(' ')}`)
  const script = `
if [[ -n $UNPACKED ]]; then
  setopt extended_glob null_glob
  module_path=($UNPACKED/usr/lib/*/zsh/* $UNPACKED/usr/lib/zsh/*)
fi
_describe() { print -rn -- "\${(pj:\\t:)\${(@)\${(@M)\${(P@)@[-1]}:#$PREFIX*}%%:*}}" }
_files() { print -rn -- $PREFIX*(N) }
compset() { }
compdef() { }
source tollgate.zsh
try() {
  local -a words=("$@")
  local CURRENT=$# PREFIX=$@[-1]
  _tollgate
  print
}
${tries.join('\n')}`
  writeFileSync(join(folder, 'try.zsh'), script)
  const lines = linesOf(zsh, ['-f', 'try.zsh'])
  for (const [i, [words, offers]] of cases.entries()) {
    t.strictSame(sorted(lines[i]), [...offers].sort(), words.join(' '))
  }
})

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
