import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { carryOut, environmentOf, type Image } from '../support/dockerfile.ts'
import { caller, json } from '../support/http.ts'
import { root } from '../support/process.ts'
import { somePort, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const dockerfile = join(root, 'config/deploy/Dockerfile')

/** Replacements for two commands. The packages of the second one are here already. */
const instead: Readonly<Record<string, string>> = {
  'npm ci --omit=dev': 'npm ci --omit=dev --prefer-offline',
  'npm ci --ignore-scripts': `ln -s '${join(root, 'node_modules')}' node_modules`,
}

/** The lock file's entries, by the packages' folders. */
const { packages } = json(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>
}

/** The folders of packages of which something is so. */
const packagesThat = (holds: (about: (typeof packages)[string]) => boolean | undefined) =>
  Object.entries(packages).flatMap(([name, about]) => (name !== '' && holds(about) ? [name] : []))

function build(t: Test): { gateway: Image; backend: Image; stages: Map<string, Image> } {
  // Outside of this checkout, in whose node_modules everything would be found.
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-images-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const stages = carryOut({ dockerfile, context: root, folder, instead })
  for (const command of Object.keys(instead))
    t.match(readFileSync(dockerfile, 'utf8'), `\nRUN ${command}\n`)
  const gateway = stages.get('gateway')
  const backend = stages.get('backend')
  if (!gateway || !backend) throw new Error('the Dockerfile has no such targets')
  return { gateway, backend, stages }
}

/** Runs what an image runs; `moved` puts other ports in the place of those of the container. */
function start(
  t: Test,
  image: Image,
  env: Record<string, string>,
  moved: (text: string) => string,
) {
  const [program = '', ...args] = image.entrypoint
  const options = { cwd: join(image.root, image.workdir), env: environmentOf(image, env) }
  // In a group of its own, so that nothing is left of an entry point that doesn't hand its signals on.
  const child = spawn(program, args, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => (output += text.toString()))
  t.teardown(() => {
    try {
      process.kill(-(child.pid ?? NaN), 'SIGKILL')
    } catch {
      // Nobody of it is there any more.
    }
  })
  const isHealthy = (): boolean => {
    const [test = '', ...words] = image.healthcheck.map(moved)
    return spawnSync(test, words, options).status === 0
  }
  const stop = async (): Promise<unknown[]> => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    return ended
  }
  return { isHealthy, stop, output: () => output }
}

t.test(
  'the steps of the Dockerfile, carried out in folders, make two services that work',
  async (t) => {
    const scripts = packagesThat(({ dev, hasInstallScript }) => !dev && hasInstallScript)
    t.strictSame(scripts, [], 'nothing is compiled, so that no image needs a compiler')
    const { gateway, backend, stages } = build(t)

    await t.test('nothing is in them but what they run', (t) => {
      const listed = (image: Image, path: string) => readdirSync(join(image.root, path)).sort()
      t.strictSame(listed(backend, 'app'), ['build', 'data', 'node_modules', 'package.json'])
      t.strictSame(listed(backend, 'app/build'), ['backend'])
      t.strictSame(listed(gateway, 'app'), ['bin', 'build', 'data', 'node_modules', 'package.json'])
      t.strictSame(listed(gateway, 'app/build'), ['gateway'])
      for (const image of [gateway, backend]) {
        const has = (name: string) => existsSync(join(image.root, 'app', name))
        t.strictSame(
          packagesThat(({ dev }) => !dev).filter((name) => !has(name)),
          [],
          'all that run',
        )
        t.strictSame(packagesThat(({ dev }) => dev).filter(has), [], 'none that build')
        t.equal(image.user, '1000:1000', 'nobody’s rights, by number')
        t.equal(image.base, stages.get('packages')?.base, 'the same Node')
      }
      const chown = /^COPY --from=build --chown=1000:1000 \/app\/data data$/m
      t.match(readFileSync(dockerfile, 'utf8'), chown, 'whose the volume is')
      t.strictSame(backend.volumes, ['/app/data'])
      t.end()
    })

    const redis = await startRedis(t)
    const [port, admin, store] = [await somePort(), await somePort(), await somePort()]
    const file = join(gateway.root, gateway.env['TOLLGATE_CONFIG'] ?? '')
    const moved = (text: string): string =>
      text
        .replaceAll('0.0.0.0', '127.0.0.1')
        .replaceAll('//backend:', '//127.0.0.1:')
        .replaceAll('8090', String(store))
        .replaceAll('8080', String(port))
        .replaceAll('8081', String(admin))
    writeFileSync(file, moved(readFileSync(file, 'utf8')))
    const common = { GATEWAY_SECRET: 'between the two', LOG_LEVEL: 'info' }
    const inGateway = { ...common, ADMIN_TOKEN: 'the-token-of-an-operator', REDIS_URL: redis.url }

    t.equal(backend.env['HOST'], '0.0.0.0', 'it can be reached from outside its container')
    const stored = { ...common, HOST: '127.0.0.1', PORT: String(store) }
    const services = {
      backend: start(t, backend, stored, moved),
      gateway: start(t, gateway, inGateway, moved),
    }
    for (const [name, address] of [
      ['backend', store],
      ['gateway', port],
    ] as const) {
      const answers = () => fetch(`http://127.0.0.1:${address}/`).then(Boolean, () => false)
      await until(answers, 60_000).catch(() => t.fail(`${name}: ${services[name].output()}`))
      t.ok(services[name].isHealthy(), `${name} is healthy`)
    }

    const command = 'tollgate keys create --plan free --name Me --json'
    const made = spawnSync('/bin/sh', ['-c', command], {
      cwd: join(gateway.root, gateway.workdir),
      env: environmentOf(gateway, inGateway),
      encoding: 'utf8',
    })
    const { key = '' } = json(made.stdout) as { key?: string }
    const call = caller(`http://127.0.0.1:${port}`)
    const headers = { authorization: `Bearer ${key}` }
    const added = await call('POST', '/v1/pets', { name: 'Rex', categoryId: 3 }, headers)
    t.equal(added.status, 201, `${made.stderr}${added.text}`)
    t.match(json(await call('GET', '/v1/pets', undefined, headers)), [{ name: 'Rex' }])
    t.ok(existsSync(join(backend.root, 'app/data/animals.db')), 'in the volume')
    const direct = await caller(`http://127.0.0.1:${store}`)('GET', '/v1/pets')
    t.equal(direct.status, 403, 'the backend takes nothing but what the gateway has signed')

    for (const [name, { isHealthy, stop, output }] of Object.entries(services).reverse()) {
      t.strictSame(await stop(), [0, null], `${name} ends by SIGTERM: ${output()}`)
      t.notOk(isHealthy(), `${name} is not healthy any more`)
    }
  },
)
