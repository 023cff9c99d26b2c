import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { raw } from './http.ts'
import { until } from './until.ts'

/** Starts a server of others at a port, with a folder of its own, and waits until it answers. Gives its URL. */
export async function startProgram(
  t: Test,
  port: number,
  binary: string,
  args: (folder: string) => string[],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-program-'))
  const child = spawn(binary, args(folder), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: folder },
  })
  let errors = ''
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${binary} ended: ${errors}`)
    const text = await raw(url, 'GET /x HTTP/1.0\r\n\r\n', 500).catch(() => '')
    return text.length > 0
  })
  return url
}

/** The configuration of an nginx in the foreground that keeps its files in a folder. */
export function nginxConfig(folder: string, http: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
    events {}
    http {
      access_log off;
      ${paths.map((path) => `${path}_temp_path ${folder}/${path};`).join(' ')}
      ${http}
    }`
}
