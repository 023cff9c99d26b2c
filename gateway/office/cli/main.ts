#!/usr/bin/env node
import { run } from './run.ts'
import { ask, askSecret, confirm, readInput, screenOf, userName } from './terminal.ts'

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  stdout: screenOf(process.stdout),
  stderr: screenOf(process.stderr),
  userName,
  ask,
  askSecret,
  readInput,
  confirm,
})
