import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './process.ts'

/** Go: the one that the set-up has found or fetched, or one on the path. */
export const go = process.env['GO_BIN'] || 'go'

/** Programs need its own packages alone: nothing is fetched, and what it has compiled is kept in this checkout. */
export const goEnvironment: Readonly<NodeJS.ProcessEnv> = {
  ...process.env,
  GOCACHE: join(root, '.cache', 'go-build'),
  GOFLAGS: '-mod=mod',
  GOPROXY: 'off',
  GOTOOLCHAIN: 'local',
}

/** Makes a program of files; gives its file. */
export function buildGo(folder: string, ...files: string[]): string {
  const program = join(folder, 'program')
  const args = ['build', '-o', program, ...files]
  execFileSync(go, args, { cwd: folder, env: goEnvironment, stdio: ['ignore', 'ignore', 'pipe'] })
  return program
}
