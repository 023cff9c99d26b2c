import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
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
  const [backend, gateway] = await Promise.all(services.map(({ listening }) => listening))
  process.stdout.write(welcome(gateway, backend, await firstKeys()))
}

/** One key for each plan if the store has none yet: somebody is trying Tollgate for the first time. */
async function firstKeys() {
  const { desksFor, loadConfig, openStores } = await import('../../build/gateway/index.js')
  const { plans, store } = loadConfig(process.env.TOLLGATE_CONFIG || 'config/gateway.yaml')
  const stores = openStores(store, { visits: true })
  const { keys: desk } = desksFor({ stores, plans, clock: Date.now, by: 'npm start' })
  const issued = []
  try {
    for await (const key of desk.list()) if (key) return []
    for (const [plan, { limits }] of plans) {
      const own = limits === 'custom' ? { limits: { perMinute: 5_000, perDay: 1_000_000 } } : {}
      issued.push(await desk.create({ name: `First ${plan} key`, plan, ...own }))
    }
    return issued
  } finally {
    await stores.close()
  }
}

/**
 * What the gateway signs with, made for this run if nobody has said: else whatever runs on this machine, a page in a
 * browser included, could change the animals without a key.
 */
const secret = process.env.GATEWAY_SECRET || randomBytes(32).toString('hex')

/** In a process group of its own, so that Ctrl-C reaches it through this process alone, once. */
function startService(name) {
  const child = spawn(process.execPath, [join(root, 'build', name, 'main.js')], {
    cwd: root,
    detached: true,
    env: { ...process.env, GATEWAY_SECRET: secret },
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

/** What runs where, and what to try: with the new keys while they can be shown, else how to make one. */
function welcome(gateway, backend, keys) {
  const curl = (token) => `curl ${gateway}/v1/pets -H "Authorization: Bearer ${token}"`
  const made = keys.map(({ key, token }) => `\n  ${key.plan.padEnd(12)}${curl(token)}`)
  const next =
    keys.length > 0
      ? `One key for each plan was made. Their tokens are shown this once; paste a line to try it:${made.join('')}`
      : `Make a key with: npm run -s tollgate -- keys create --plan free --name "My app"`
  return [
    `Tollgate runs. Ctrl-C ends it. README.md tells more.`,
    `  gateway  ${gateway}  what callers use (config/gateway.yaml)`,
    `  backend  ${backend}  the animal store behind it (data/animals.db)`,
    `${next}\n`,
  ].join('\n')
}
