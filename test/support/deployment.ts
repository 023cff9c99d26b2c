import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { instructionsOf } from './dockerfile.ts'
import { bareEnvironment, root } from './process.ts'

export const folder = join(root, 'config/deploy')

/** A file of config/deploy. */
export function read(name: string): string {
  return readFileSync(join(folder, name), 'utf8')
}

/** The backend's time limit for a stop: the default of `serve`. */
export const backendStops =
  Number(
    /usualTimes.* shutdownMs: ([\d_]+)/
      .exec(readFileSync(join(root, 'shared/serve.ts'), 'utf8'))?.[1]
      ?.replaceAll('_', ''),
  ) / 1_000

/** How long a gateway with a configuration of config/deploy may take to stop, in seconds. */
export function gatewayStops(config: string): number {
  return parseConfig(config, { REDIS_URL: 'redis://redis' }, 'gateway.yaml').shutdownMs / 1_000
}

/** The names that a service says it takes from its environment. */
export function namesReadBy(service: string): string[] {
  const { stdout } = spawnSync(process.execPath, [join(root, service, 'main.ts'), '-h'], {
    env: bareEnvironment,
    encoding: 'utf8',
  })
  const [, list = ''] = stdout.split('\nEnvironment:\n')
  return [...list.matchAll(/^ {2}([A-Z_]+) /gm)].map(([, name = '']) => name)
}

/** The names that a configuration takes from its environment. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(/^[^#\n]*\$\{(\w+)/gm)].map(([, name = '']) => name)
}

/** The values of one instruction in a stage of the Dockerfile. */
export function saidBy(target: string, name: string): string[] {
  let stage = ''
  const said: string[] = []
  for (const instruction of instructionsOf(read('Dockerfile'))) {
    if (instruction.name === 'FROM') stage = instruction.rest.split(' ').at(-1) ?? ''
    else if (stage === target && instruction.name === name) said.push(instruction.rest)
  }
  return said
}

/** The ports that an image listens on. */
export function portsOf(target: string): number[] {
  return saidBy(target, 'EXPOSE').flatMap((ports) => ports.split(' ').map(Number))
}

/** The environment of an image. */
export function environmentIn(target: string): Record<string, string> {
  return Object.fromEntries(saidBy(target, 'ENV').map((pair) => pair.split('=')))
}

/** The version whose images are named. */
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
}
