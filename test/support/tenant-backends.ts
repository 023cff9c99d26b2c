import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { folderOf } from './folder.ts'
import { buildGo } from './go.ts'
import { raw } from './http.ts'
import { root } from './process.ts'
import { shownFiles } from './readme.ts'
import { atSomePort } from './redis.ts'
import { until } from './until.ts'

/** The languages in which the guide has a backend. */
export const languages = ['Node', 'Python', 'Go'] as const
export type Language = (typeof languages)[number]

/** The command that runs the guide's backend in a language, from its text as it stands. */
function commandFor(t: Test, language: Language): readonly [program: string, ...args: string[]] {
  const entry = pathToFileURL(join(root, 'gateway/index.ts')).href
  const tollgate = {
    'package.json': '{ "type": "module", "exports": "./index.js" }',
    'index.js': `export * from '${entry}'`,
  }
  const folder = folderOf(t, {
    ...shownFiles('config/guides/backend.md'),
    // A package of its own: in this one's, its name leads to what is built.
    'package.json': '{}',
    node_modules: { tollgate },
  })
  if (language === 'Node') return [process.execPath, join(folder, 'backend.mjs')]
  if (language === 'Python') return ['python3', '-B', join(folder, 'backend.py')]
  return [buildGo(folder, 'verify.go', 'backend.go')]
}

/** Runs the guide's backend in a language; gives its URL. */
export async function startTenantBackend(
  t: Test,
  language: Language,
  secret: string,
): Promise<string> {
  const [program, ...args] = commandFor(t, language)
  return atSomePort(async (port) => {
    const child = spawn(program, args, {
      env: { ...process.env, GATEWAY_SECRET: secret, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = once(child, 'close')
    t.teardown(async () => {
      child.kill('SIGKILL')
      await ended
    })
    let errors = ''
    child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
    const url = `http://127.0.0.1:${port}`
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`the backend in ${language} ended: ${errors}`)
      const answer = await raw(url, 'GET / HTTP/1.0\r\n\r\n').catch(() => '')
      return answer !== ''
    })
    return url
  })
}
