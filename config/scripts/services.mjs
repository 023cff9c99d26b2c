import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from './shared.mjs'

/** Runs backend and gateway as two processes until Ctrl-C, or until one of them ends. */
export async function runServices() {
  const services = []
  let stopping
  const stop = (code) => {
    stopping ??= stopAll(services).then(() => process.exit(code))
    return stopping
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // Whoever asks twice has waited enough.
      if (stopping) for (const service of services) service.child.kill(signal)
      void stop(0)
    })
  }
  for (const name of ['backend', 'gateway']) {
    const service = startService(name)
    services.push(service)
    void service.ended.then(() => {
      if (!stopping)
        process.stderr.write(`The ${name} ended by itself; its last words are above.\n`)
      void stop(1)
    })
    await service.listening
    if (stopping) return stopping
  }
  process.stdout.write(welcome(await services[1].listening, await services[0].listening))
}

/** In a process group of its own, so that Ctrl-C reaches it through this process alone, once. */
function startService(name) {
  const child = spawn(process.execPath, [join(root, 'build', name, 'main.js')], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = new Promise((resolve) => {
    child.once('exit', resolve)
    child.once('error', resolve)
  })
  const listening = new Promise((resolve) => {
    child.once('message', (message) => resolve(message.listening))
    void ended.then(() => resolve(undefined))
  })
  return { child, ended, listening }
}

/** The gateway first, so that what it still answers finds a backend. */
async function stopAll(services) {
  for (const service of [...services].reverse()) {
    service.child.kill('SIGTERM')
    await service.ended
  }
}

function welcome(gateway, backend) {
  return [
    `Tollgate runs. Ctrl-C ends it.`,
    `  gateway  ${gateway}  what callers use (config/gateway.yaml)`,
    `  backend  ${backend}  the animal store behind it (data/animals.db)`,
    `  try      curl ${gateway}/v1/pets`,
    `  more     README.md\n`,
  ].join('\n')
}
