// Checks all of a release that needs no network: `npm run release:check`, and for a tag `npm run release:check -- v1.0.0`.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { prepareOrExit } from '../prepare.mjs'
import { root } from '../shared.mjs'
import { sectionOf } from './changelog.mjs'

const [tag] = process.argv.slice(2)

const textOf = (file) => readFileSync(join(root, file), 'utf8')
const { version, files } = JSON.parse(textOf('package.json'))

await prepareOrExit({ forTests: true })
const { faultsOfWorkflows } = await import('./workflows.mjs')
const { faultsOfPins } = await import('./pins.mjs')

/** Each with what it proves, and its faults. */
const checks = [
  ['version', versionFaults],
  ['changelog', changelogFaults],
  ['package', packageFaults],
  ['images', imageFaults],
  // They are as their schema says, and ask for no more than they need.
  ['workflows', () => faultsOfWorkflows(join(root, '.github/workflows'))],
  // Nothing that others publish is named so that they can put something else in its place.
  ['pins', () => faultsOfPins(root)],
]

/** Files in config/deploy that name our version, and how. */
const image = /image: tollgate-\w+:(\S+)/g
const versionPlaces = [
  ['compose.yaml', image],
  ['kubernetes/base/gateway.yaml', image],
  ['kubernetes/base/animal-store.yaml', image],
  ['kubernetes/overlay/kustomization.yaml', /newTag: (\S+) /g],
  ['Dockerfile', /-t tollgate-\w+:(\S+)/g],
]

let isFine = true
for (const [name, faultsIn] of checks) {
  const faults = await faultsIn()
  isFine &&= faults.length === 0
  const outcome = faults.length === 0 ? 'fine' : faults.map((each) => `\n  ${each}`).join('')
  process.stdout.write(`${name}: ${outcome}\n`)
}
process.exitCode = isFine ? 0 : 1

/** All files name the version of package.json. */
function versionFaults() {
  const { version: locked, packages } = JSON.parse(textOf('package-lock.json'))
  const inDeploy = versionPlaces.flatMap(([name, form]) => {
    const file = `config/deploy/${name}`
    return [...textOf(file).matchAll(form)].map(([, named]) => [named, file])
  })
  const faults = [
    [locked, 'package-lock.json'],
    [packages[''].version, 'package-lock.json, packages'],
    ...inDeploy,
  ].flatMap(([named, file]) =>
    named === version ? [] : [`${file} has the version ${named}, package.json has ${version}`],
  )
  if (tag !== undefined && tag !== `v${version}`) {
    faults.push(`the tag is ${tag}, and package.json has ${version}: it must be v${version}`)
  }
  return faults
}

/** At a tag the changelog has the version's section with its day; before, what is to come. */
function changelogFaults() {
  const wanted = tag === undefined ? 'Unreleased' : version
  const section =
    sectionOf(textOf('CHANGELOG.md'), wanted) ?? sectionOf(textOf('CHANGELOG.md'), version)
  if (!section || (tag !== undefined && section.name !== version)) {
    return [
      `CHANGELOG.md has no section ${wanted}: write "## ${version} (2030-12-31)", with its day`,
    ]
  }
  if (tag !== undefined && !section.isDated) {
    return [`CHANGELOG.md has no day for ${version}: write "## ${version} (2030-12-31)"`]
  }
  return section.text === '' ? [`CHANGELOG.md says nothing of ${section.name}`] : []
}

/** The package holds what package.json says, and nothing else. It is compiled later. */
function packageFaults() {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) return [`npm pack: ${stderr.trim()}`]
  const packed = JSON.parse(stdout)[0].files.map(({ path }) => path)
  const allowed = ['package.json', 'README.md', 'LICENSE', ...files]
  const isAllowed = (path) =>
    allowed.some((each) => {
      if (each.includes('**'))
        return path.startsWith(`${each.split('/')[0]}/`) && path.endsWith('.md')
      return path === each || path.startsWith(`${each}/`)
    })
  const wanted = allowed.filter((each) => !each.startsWith('build/') && !each.includes('**'))
  return [
    ...packed
      .filter((path) => !isAllowed(path))
      .map((path) => `${path} is packed, and isn't in files`),
    ...wanted
      .filter((each) => !packed.some((path) => path === each || path.startsWith(`${each}/`)))
      .map((each) => `${each} isn't packed`),
    ...packed
      .filter((path) => /(?:^|\/)\.env|\.db$|\.pem$/.test(path))
      .map((path) => `${path} is packed`),
  ]
}

/** All that the Dockerfile copies is there, and in the context. */
function imageFaults() {
  const kept = textOf('config/deploy/Dockerfile.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
  const copied = [...textOf('config/deploy/Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)]
  return copied
    .flatMap(([, sources]) => sources.split(' '))
    .flatMap((source) => [
      ...(existsSync(join(root, source)) ? [] : [`${source} is copied, and isn't there`]),
      ...(kept.some((each) => source === each || source.startsWith(`${dirname(`${each}/x`)}/`))
        ? []
        : [`${source} is copied, and Dockerfile.dockerignore leaves it out`]),
    ])
}
