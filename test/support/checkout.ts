import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root } from './process.ts'
import { folderOf } from './folder.ts'

/** A checkout in which nothing is set up yet. */
export function checkout(t: Test): string {
  const folder = folderOf(t, { home: {}, empty: {}, checkout: {} })
  const target = join(folder, 'checkout')
  for (const name of ['config', 'package.json', 'package-lock.json']) {
    cpSync(join(root, name), join(target, name), { recursive: true })
  }
  for (const name of ['gateway', 'backend', 'shared', 'test']) mkdirSync(join(target, name))
  return folder
}

/** Runs Node with nothing in its environment but a path. */
export function runNode(args: string[], env: Record<string, string>, cwd?: string) {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    ...{ env: { PATH: process.env['PATH'] ?? '', ...env }, encoding: 'utf8' },
    // A service that should have refused to start would run for ever.
    timeout: 120_000,
    ...(cwd === undefined ? {} : { cwd }),
  })
  return { status, output: stdout + stderr }
}

/** An npm that does what some code does. */
export function fakeNpm(folder: string, code: string): string {
  const file = join(folder, 'npm.js')
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  writeFileSync(file, `const fs = require('node:fs')\n${code}`)
  return file
}
