import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { adminToken } from './admin-token.mjs'
import { root, SetupError } from './shared.mjs'

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
      // A second signal ends it at once.
      if (stopping) for (const service of services) service.child.kill(signal)
      void stop(0)
    })
  }
  const start = async (name, more) => {
    const service = startService(name, more)
    services.push(service)
    void service.ended.then(() => {
      if (!stopping)
        process.stderr.write(`The ${name} ended by itself; its last words are above.\n`)
      void stop(1)
    })
    return service.listening
  }
  const [backend, usual] = await Promise.all([start('backend', quiet), configuration()])
  if (stopping) return stopping
  const isSet = !process.env.ANIMALS_URL && !leadsTo(usual, backend)
  if (isSet) process.env.ANIMALS_URL = backend
  const config = isSet ? await configuration() : usual
  // Commands in another terminal read the configuration without it.
  const isElsewhere = isSet && config !== undefined && urlsOf(usual) !== urlsOf(config)
  const adminPort = config && adminPortOf(config)
  const more = [
    ...(isElsewhere ? [`ANIMALS_URL=${backend}`] : []),
    ...(adminPort && adminPort !== config.admin.port ? [`ADMIN_PORT=${adminPort}`] : []),
  ]
  const operator = operatorOf(config)
  if (operator === null) return stop(1)
  // Before the gateway, which logs all changes made while it runs.
  const keys = config ? await firstKeys(config) : []
  const gateway = await start('gateway', operator && { ADMIN_TOKEN: `operator:${operator.token}` })
  if (stopping) {
    // They are shown this once, whatever becomes of the gateway.
    if (keys.length > 0) process.stdout.write(`${tokens(keys, 'http://127.0.0.1:8080')}\n`)
    return stopping
  }
  const isReached = leadsTo(config, backend)
  const isOpen = operator !== undefined || Boolean(process.env.ADMIN_TOKEN?.trim())
  const console = isOpen ? consoleOf(config) : undefined
  const pages = config?.portal && `${gateway}${config.portal.path}`
  process.stdout.write(
    welcome({ gateway, backend, console, pages, operator, keys, isReached, more }),
  )
}

/** The token that is made where ADMIN_TOKEN isn't set; `null` if that can't be done, which is told. */
function operatorOf(config) {
  if (!config || process.env.ADMIN_TOKEN?.trim()) return undefined
  try {
    return adminToken(config.store.file)
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`${error.message}\n`)
    return null
  }
}

/** Where the console is, as this machine reaches it; nothing if any port was asked for. */
function consoleOf(config) {
  if (!config || adminPortOf(config) === 0) return undefined
  const { host } = config.admin
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${adminPortOf(config)}/console/`
}

/** The port for operators: a variable, which an option may have set, goes before the file. */
function adminPortOf({ admin }) {
  return Number(process.env.ADMIN_PORT || admin.port)
}

/** On a terminal, the gateway's line tells enough of each request. */
const quiet = process.stdout.isTTY && !process.env.LOG_LEVEL ? { LOG_LEVEL: 'warn' } : {}

/** One key for each plan if the store has none yet: somebody is trying Tollgate for the first time. */
async function firstKeys({ plans, store }) {
  const { openStores } = await import('../../gateway/front/stores/open.ts')
  const { desksFor } = await import('../../gateway/office/operations/desks.ts')
  const issued = []
  let stores
  try {
    stores = await openStores(store, { forCommandLine: true })
    const { keys: desk } = desksFor({ stores, plans, clock: Date.now, by: 'npm start' })
    for await (const key of desk.list()) if (key) return []
    for (const [plan, { limits }] of plans) {
      const own = limits === 'custom' ? { limits: { perMinute: 5_000, perDay: 1_000_000 } } : {}
      issued.push(await desk.create({ name: `First ${plan} key`, plan, ...own }))
    }
  } catch (error) {
    process.stderr.write(`First keys can't be made: ${error.message}\n`)
  } finally {
    await stores?.close()
  }
  return issued
}

const configFile = process.env.TOLLGATE_CONFIG || 'config/gateway.yaml'

/** The configuration as the gateway reads it; nothing if it can't be read, which the gateway tells. */
async function configuration() {
  // Not the index, which leads to all of the gateway.
  const { loadConfig } = await import('../../gateway/office/config/load.ts')
  const { ConfigError } = await import('../../gateway/office/config/config-error.ts')
  try {
    return loadConfig(configFile)
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

/** Whether a target of a configuration is that backend. */
function leadsTo(config, backend) {
  return [...(config?.upstreams.values() ?? [])].some(({ targets }) =>
    targets.some(({ url }) => new URL(url).port === new URL(backend).port),
  )
}

/** Where all backends of a configuration are. */
function urlsOf(config) {
  return JSON.stringify([...(config?.upstreams.values() ?? [])].map(({ targets }) => targets))
}

/**
 * The gateway's secret, made for this run if the environment has none: otherwise any program on this machine, a page in a
 * browser included, could change the animals without a key.
 */
const secret = process.env.GATEWAY_SECRET || randomBytes(32).toString('hex')

/** The allocator gives back what V8's compiler needs while a process warms up, as in images (config/deploy/Dockerfile). */
const memory = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' }

/** In a process group of its own, so that Ctrl-C reaches it through this process alone, once. */
function startService(name, more = {}) {
  const child = spawn(process.execPath, [join(root, name, 'main.ts')], {
    cwd: root,
    detached: true,
    env: { ...memory, ...process.env, GATEWAY_SECRET: secret, ...more },
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

/** The addresses of all services and commands to try, with the new keys if they can be shown, else how to make one. */
function welcome({ gateway, backend, console, pages, operator, keys, isReached, more }) {
  const next =
    keys.length > 0
      ? tokens(keys, gateway)
      : `Create a key with: npm run -s tollgate -- keys create --plan free --name "My app"`
  return [
    `Tollgate runs. Ctrl-C ends it. README.md tells more.`,
    `  gateway  ${gateway}  what callers use (${configFile})`,
    ...(pages ? [`  pages    ${pages}  what callers read`] : []),
    `  backend  ${backend}  the animal store behind it (data/animals.db)`,
    ...(console ? [`  console  ${console}  what operators use`] : []),
    ...(operator ? signIn(operator) : []),
    ...(isReached
      ? []
      : [`  No target of ${configFile} is that backend: the gateway asks others.`]),
    ...(more.length > 0
      ? [
          `  The configuration alone has other addresses: in a second terminal, before commands,`,
          `    export ${more.join(' ')}`,
        ]
      : []),
    `${next}\n`,
  ].join('\n')
}

/** How operators sign in with a token that was made here. */
function signIn({ token, file, isNew }) {
  const commands = `    export ADMIN_TOKEN=$(cat ${file})`
  if (!isNew) return [`  Sign in with the token in ${file}; for commands:`, commands]
  return [
    `  Sign in with this token. It was made now, and is shown this once: ${token}`,
    `  It is kept in ${file}, which only you can read; for commands:`,
    commands,
  ]
}

/** The new keys, each with a line to try it. */
function tokens(keys, gateway) {
  const curl = (token) => `curl ${gateway}/v1/pets -H "Authorization: Bearer ${token}"`
  const made = keys.map(({ key, token }) => `\n  ${key.plan.padEnd(12)}${curl(token)}`)
  return `One key for each plan was made. Their tokens are shown this once. Try a line:${made.join('')}`
}
