import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join, relative } from 'node:path'

export type Instruction = Readonly<{ name: string; rest: string; line: number }>

/** A built stage: a folder in place of its root, and the way in which it runs. */
export type Image = {
  /** The image that its first stage is from. */
  base: string
  root: string
  workdir: string
  env: Record<string, string>
  user: string
  volumes: string[]
  healthcheck: string[]
  entrypoint: string[]
}

export type Build = Readonly<{
  dockerfile: string
  context: string
  /** An empty folder, in which each stage gets one of its own. */
  folder: string
  /** Commands in the place of those that can't be carried out here as they are. */
  instead?: Readonly<Record<string, string>>
}>

/**
 * Carries out the stages of a Dockerfile in folders: no container, no base image, nobody else's rights. It
 * knows what our Dockerfile uses, and throws at anything else, so that nothing is passed over in silence.
 */
export function carryOut(build: Build): Map<string, Image> {
  const { dockerfile, context, folder, instead = {} } = build
  const ignored = ignoring(readFileSync(`${dockerfile}.dockerignore`, 'utf8'))
  const images = new Map<string, Image>()
  const args: Record<string, string> = {}
  let image: Image | undefined
  for (const { name, rest, line } of instructionsOf(readFileSync(dockerfile, 'utf8'))) {
    const told = (text: string, names: Record<string, string>): string =>
      text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_all, braced?: string, bare?: string) => {
        const value = names[braced ?? bare ?? '']
        if (value === undefined) throw new Error(`${dockerfile}:${line}: ${text}: what is that?`)
        return value
      })
    if (name === 'ARG') {
      const [key = '', value = ''] = rest.split('=')
      args[key] = value
      continue
    }
    if (name === 'FROM') {
      const [, from = '', stage = ''] = /^(\S+) AS (\S+)$/.exec(told(rest, args)) ?? []
      const root = join(folder, stage)
      image = begun(root, from, images.get(from))
      images.set(stage, image)
      continue
    }
    if (!image) throw new Error(`${dockerfile}:${line}: ${name} before FROM`)
    if (name === 'WORKDIR') mkdirSync(join(image.root, (image.workdir = rest)), { recursive: true })
    else if (name === 'ENV') {
      const [key = '', value = ''] = rest.split('=')
      image.env[key] = told(value, { PATH: process.env['PATH'] ?? '', ...image.env })
    } else if (name === 'USER') image.user = rest
    else if (name === 'VOLUME') image.volumes.push(rest)
    else if (name === 'ENTRYPOINT') image.entrypoint = JSON.parse(rest) as string[]
    else if (name === 'HEALTHCHECK')
      image.healthcheck = JSON.parse(rest.replace(/^(?:--\S+ )*CMD /, '')) as string[]
    else if (name === 'COPY') copy(image, rest, { images, context, ignored })
    else if (name === 'RUN') run(image, instead[rest] ?? rest, rest)
    else if (name !== 'EXPOSE') throw new Error(`${dockerfile}:${line}: ${name} is not known here`)
  }
  return images
}

/** The environment of a program in an image: its own, with paths where they are here, and more. */
export function environmentOf(image: Image, more: Record<string, string> = {}) {
  const here = (path: string): string =>
    path.startsWith('/') && existsSync(join(image.root, path)) ? join(image.root, path) : path
  const own = Object.entries(image.env).map(([name, value]) => [
    name,
    value.split(delimiter).map(here).join(delimiter),
  ])
  const { PATH = process.env['PATH'] ?? '', ...others } = Object.fromEntries(own) as Image['env']
  // This Node before any other, because SQLite's native part fits this one.
  return { ...others, ...more, PATH: `${dirname(process.execPath)}${delimiter}${PATH}` }
}

/** One after the other, with their continued lines joined and comments left out. */
export function instructionsOf(text: string): Instruction[] {
  const found: Instruction[] = []
  let joined = ''
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    joined += line.replace(/\\$/, '').trimStart()
    if (line.endsWith('\\')) continue
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(joined) ?? []
    found.push({ name, rest, line: i + 1 })
    joined = ''
  }
  return found
}

function begun(root: string, base: string, from: Image | undefined): Image {
  mkdirSync(root, { recursive: true })
  if (from) {
    copyAll(from.root, root)
    return { ...structuredClone(from), root }
  }
  const none = { env: {}, volumes: [], healthcheck: [], entrypoint: [] }
  return { base, root, workdir: '/', user: 'root', ...none }
}

function copy(
  image: Image,
  rest: string,
  from: { images: Map<string, Image>; context: string; ignored: (path: string) => boolean },
): void {
  const words = rest.split(' ')
  const flags = words.filter((word) => word.startsWith('--'))
  const [target = '', ...sources] = words.filter((word) => !word.startsWith('--')).reverse()
  // Whose a file is can't be said without rights; --chown is looked at by the tests.
  const stage = flags.find((flag) => flag.startsWith('--from='))?.slice('--from='.length)
  const source = stage === undefined ? from.context : from.images.get(stage)?.root
  if (source === undefined) throw new Error(`COPY ${rest}: there is no stage ${stage}`)
  const place = join(image.root, target.startsWith('/') ? '' : image.workdir, target)
  for (const name of sources) {
    const path = join(source, name)
    const isFile = statSync(path).isFile()
    const to = isFile && target.endsWith('/') ? join(place, basename(name)) : place
    mkdirSync(isFile ? dirname(to) : to, { recursive: true })
    if (stage !== undefined && !isFile) {
      copyAll(path, to)
      continue
    }
    const filter = (file: string): boolean =>
      stage !== undefined || !from.ignored(relative(source, file))
    if (!filter(path)) throw new Error(`COPY ${rest}: ${name} is left out by .dockerignore`)
    cpSync(path, to, { recursive: true, filter })
  }
}

/** Copies a folder's content to another; for thousands of files Node takes twice as long. */
function copyAll(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-R', `${from}/.`, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

function run(image: Image, command: string, original: string): void {
  if (/(?:^|\s)\/\w/.test(original))
    throw new Error(`RUN ${original}: outside its folder; relative paths can be carried out here`)
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-ec', command], {
    cwd: join(image.root, image.workdir),
    env: { ...outside(), ...environmentOf(image) },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`RUN ${original}: exit code ${status}\n${stdout}${stderr}`)
}

/** The environment for a build, without the variables that npm and tap have set. */
function outside(): NodeJS.ProcessEnv {
  const ours = /^(?:npm_(?!config_(?:registry|cache|userconfig)$)|TAP)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)))
}

/** Whether a file is left out, as a list says whose last word counts. */
function ignoring(list: string): (path: string) => boolean {
  const lines = list.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return (path) => {
    let isLeftOut = false
    for (const line of lines) {
      const name = line.replace(/^!/, '')
      if (/[*?[]/.test(name) && name !== '*') throw new Error(`.dockerignore: ${line}: not known`)
      if (name === '*' || path === name || path.startsWith(`${name}/`))
        isLeftOut = !line.startsWith('!')
    }
    return isLeftOut
  }
}
