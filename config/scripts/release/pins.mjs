import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments, visit } from 'yaml'

const pinned = /@(?:[0-9a-f]{40}|sha256:[0-9a-f]{64})$/
/** Keys of workflows, Compose and Kubernetes whose values name what others publish. */
const naming = ['uses', 'image', 'driver-opts', 'sbom']
const ours = /^tollgate-(?:gateway|backend):/

/** The actions and images of a checkout that others can move, each with its place, unless a comment says why. */
export function faultsOfPins(root) {
  const yaml = ['.github/workflows', 'config/deploy'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => /\.ya?ml$/.test(name))
      .map((name) => [join(folder, name), namedInYaml]),
  )
  const files = [...yaml, ['config/deploy/Dockerfile', namedInDockerfile]]
  return files.flatMap(([file, namedIn]) => {
    const text = readFileSync(join(root, file), 'utf8')
    const lines = text.split('\n')
    const isExcused = (line) =>
      /# not pinned: \S/.test(lines[line]) || /^\s*# not pinned: \S/.test(lines[line - 1])
    return namedIn(text)
      .filter(({ name, line }) => !pinned.test(name) && !ours.test(name) && !isExcused(line))
      .map(
        ({ name, line }) =>
          `${file}:${line + 1}: ${name} can be moved: name its commit or digest, or write "# not pinned: " and why`,
      )
  })
}

/** The values of such keys, each with its line from 0. */
function namedInYaml(text) {
  const named = []
  const Pair = (_, { key, value }) => {
    if (!naming.includes(key.value)) return
    named.push({ name: String(value), line: text.slice(0, value.range[0]).split('\n').length - 1 })
  }
  for (const document of parseAllDocuments(text)) visit(document, { Pair })
  return named
}

/** The image of each FROM and COPY that is no stage, with its line from 0. */
function namedInDockerfile(text) {
  const values = {}
  const stages = []
  return text.split('\n').flatMap((written, line) => {
    const [, variable, value] = /^ARG (\w+)=(\S+)/.exec(written) ?? []
    if (variable) values[variable] = value
    const told = written.replace(/\$\{(\w+)\}/g, (_, each) => values[each])
    const [, name, stage] =
      /^FROM (?:--\S+ )*(\S+)(?: AS (\S+))?/i.exec(told) ?? /^COPY .*--from=(\S+)/i.exec(told) ?? []
    if (stage) stages.push(stage)
    return name && !stages.includes(name) ? [{ name, line }] : []
  })
}
