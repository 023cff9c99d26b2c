import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { version } from '../support/deployment.ts'
import { runNode } from '../support/checkout.ts'
import { root } from '../support/process.ts'
import { folderOf } from '../support/folder.ts'

/** A checkout whose files a test may change. */
function changeable(t: Test): string {
  const folder = folderOf(t)
  const copied = ['config', '.github', 'package.json', 'package-lock.json', 'CHANGELOG.md']
  for (const name of [...copied, 'README.md', 'LICENSE', 'tsconfig.json', '.npmrc']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  for (const name of ['node_modules', 'gateway', 'shared', 'backend']) {
    symlinkSync(join(root, name), join(folder, name))
  }
  return folder
}

function change(folder: string, file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(join(folder, file), 'utf8')
  t.match(text, from, `${file} has it`)
  writeFileSync(join(folder, file), text.replace(from, to))
}

function run(folder: string, script: string, ...args: string[]) {
  return runNode([join(folder, `config/scripts/release/${script}.mjs`), ...args], {}, folder)
}

t.test('this checkout could be released, once its changelog names the version', (t) => {
  t.match(run(root, 'check'), { status: 0, output: /^(?:\w+: fine\n){6}$/ })
  const folder = changeable(t)
  const early = run(folder, 'check', `v${version}`)
  const told = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8').includes(`## ${version} (`)
  if (!told) {
    t.match(early, { status: 1, output: /changelog: \n {2}CHANGELOG\.md has no section/ })
    t.match(run(folder, 'notes'), { status: 1, output: /has no section/ })
    change(folder, 'CHANGELOG.md', '## Unreleased\n', `## ${version} (2030-12-31)\n`)
  }
  t.match(run(folder, 'check', `v${version}`), { status: 0 })
  t.match(run(folder, 'check', 'v99.0.0'), { status: 1, output: /the tag is v99\.0\.0/ })
  const { status, output } = run(folder, 'notes')
  t.equal(status, 0)
  t.match(output, /^\S/, 'its section, without the heading')
  t.notMatch(output, /^## /m)
  t.end()
})

t.test('each fault is told with its file', (t) => {
  const folder = changeable(t)
  const compose = 'config/deploy/compose.yaml'
  change(folder, compose, `tollgate-gateway:${version}`, 'tollgate-gateway:99.0.0')
  change(folder, 'package.json', '"CHANGELOG.md"', '"CHANGES.md"')
  change(folder, 'config/deploy/Dockerfile.dockerignore', '!shared\n', '')
  change(folder, 'config/deploy/Dockerfile', 'COPY tsconfig.json ./', 'COPY tsconfig.jsonc ./')
  const release = '.github/workflows/release.yml'
  change(folder, release, 'permissions:\n  contents: read\n\n', '')
  change(folder, '.github/workflows/test.yml', 'timeout-minutes', 'timeout-minuets')
  const { status, output } = run(folder, 'check')
  t.equal(status, 1)
  for (const fault of [
    `${compose} has the version 99.0.0, package.json has ${version}`,
    "CHANGES.md isn't packed",
    "tsconfig.jsonc is copied, and isn't there",
    'shared is copied, and Dockerfile.dockerignore leaves it out',
    "release.yml: the file must have required property 'permissions'",
    'test.yml: /jobs/shares must NOT have additional properties timeout-minuets',
  ]) {
    t.match(output, fault)
  }
  t.end()
})

t.test('a workflow that a stranger could make use of is refused', (t) => {
  const folder = changeable(t)
  const release = '.github/workflows/release.yml'
  change(folder, release, 'npm run release:check -- "$TAG"', 'echo ${{ github.ref_name }}')
  change(folder, release, 'needs: [package, images]', 'needs: [packages]')
  const { output } = run(folder, 'check')
  t.match(output, /release\.yml: check writes what others choose into a script/)
  t.match(output, 'page needs packages, which is no job')
  change(folder, release, /docker\/login-action@\w+/, 'somebody/login-action@main')
  t.match(run(folder, 'check').output, /steps\/3\/uses must match pattern/)
  t.end()
})

t.test('what others can move is told with its place, unless a comment says why', (t) => {
  const folder = changeable(t)
  const release = '.github/workflows/release.yml'
  const workflow = '.github/workflows/test.yml'
  const compose = 'config/deploy/compose.yaml'
  const valkey = 'config/deploy/kubernetes/base/valkey.yaml'
  const dockerfile = 'config/deploy/Dockerfile'
  change(folder, release, /sbom: .*/, 'sbom: true')
  change(folder, workflow, /checkout@.*/, 'checkout@v4 # v4.4.0')
  change(
    folder,
    workflow,
    /(?<=valkey:[^]*)- uses: actions\/checkout@\w+ .*/,
    '- { uses: actions/checkout@v3 }',
  )
  change(folder, compose, /(prometheus:v[\d.]+)@.*/, '$1')
  change(folder, compose, /(grafana:[\d.]+@\w+:).*/, '$1feed')
  change(folder, valkey, /image: (valkey.*)@.*/, '"image": $1')
  change(folder, dockerfile, /FROM node:\S+ AS build/, 'FROM node:26 AS build')
  change(folder, dockerfile, 'COPY --from=build /app/bin', 'COPY --from=someone/tools /app/bin')
  const { status, output } = run(folder, 'check')
  t.equal(status, 1)
  const [, told = ''] = output.split('pins: ')
  t.strictSame(
    [...told.matchAll(/^ {2}(\S+):\d+: (\S+) can be moved: name its commit or digest/gm)]
      .map(([, file, name]) => [file, name])
      .sort(),
    [
      [release, 'true'],
      [workflow, 'actions/checkout@v3'],
      [workflow, 'actions/checkout@v4'],
      [dockerfile, 'node:26'],
      [dockerfile, 'someone/tools'],
      [compose, 'grafana/grafana:12.1.1@sha256:feed'],
      [compose, 'prom/prometheus:v3.5.0'],
      [valkey, 'valkey/valkey:8.1.3-bookworm'],
    ],
  )
  change(
    folder,
    workflow,
    'checkout@v4 # v4.4.0',
    'checkout@v4 # not pinned: its commit is unknown',
  )
  change(folder, workflow, '- { uses:', '# not pinned:\n      - { uses:')
  change(folder, dockerfile, 'FROM node:26', '# not pinned: a test\nFROM node:26')
  const after = run(folder, 'check').output
  t.notMatch(after, 'checkout@v4 can')
  t.notMatch(after, 'node:26 can')
  t.match(after, 'checkout@v3 can', 'a reason is wanted')
  t.match(after, 'someone/tools can')
  t.end()
})

t.test('all tests, the package, two images for two processors, and their papers are in it', (t) => {
  const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')
  for (const part of [
    'node: [22, 24, 26]',
    'npm publish --provenance',
    'target: [gateway, backend]',
    'platforms: linux/amd64,linux/arm64',
    'sbom: generator=',
    'provenance: mode=max',
    'sha256sum',
    'release/notes.mjs',
  ]) {
    t.ok(text.includes(part), part)
  }
  t.end()
})
