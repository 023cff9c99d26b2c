import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { parse, stringify } from 'yaml'
import { startGateway, type Gateway, type GatewayOptions } from '../../support/gateway.ts'
import { caller, json } from '../../support/http.ts'
import { startModels, startModelsWithKey } from '../../support/model-server.ts'
import { textOf } from '../../support/readme.ts'
import { somePort } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

/** The samples of the page about tokens, in a language, in their order. */
function samplesIn(language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')
  return [...textOf('config/tokens.md').matchAll(fenced)].map(([, sample = '']) => sample)
}

type Written = { plans?: object; upstreams?: { api: { forward: object } }; routes: object[] }

const written = samplesIn('yaml').map((sample) => parse(sample) as Partial<Written>)
const [ofApi, ofModels, ofOwn] = written.filter(
  (each): each is Written => each.routes !== undefined,
)

const noon = Date.UTC(2026, 10, 20, 12)

/** A gateway by a sample of the page, in front of a backend, and a key of its first plan. */
async function startBySample(t: Test, sample: typeof ofModels, options: GatewayOptions) {
  const { plans = { free: { perMinute: 10_000, perDay: 200_000 } }, routes = [] } = sample ?? {}
  const gateway = await startGateway(t, {
    ...options,
    clock: () => noon,
    more: stringify({ plans }),
    routes: JSON.stringify(routes).replaceAll('"api"', '"animals"'),
  })
  const { headers } = await gateway.key({ plan: 'free' })
  return { gateway, headers }
}

/** The points of the minute that are used. */
async function used({ call }: Gateway, headers: Record<string, string>): Promise<number> {
  const { minute } = json(await call('GET', '/v1/quota', undefined, headers))
  const { limit, remaining } = minute as { limit: number; remaining: number }
  return limit - remaining
}

const path = '/v1/chat/completions'
const messages = [
  { role: 'system', content: 'Say it again' },
  { role: 'user', content: 'one two three four five' },
]
const asked = { model: 'echo', messages }

t.test('in front of a server of models, a plan limits tokens', async (t) => {
  const models = await startModels(t)
  const { gateway, headers } = await startBySample(t, ofModels, { upstream: models })
  const isUsed = (points: number) => until(async () => (await used(gateway, headers)) === points)

  const compressed = { ...headers, 'accept-encoding': 'gzip' }
  const whole = await gateway.call('POST', path, asked, compressed)
  const direct = await caller(models.url)('POST', path, asked)
  t.same({ ...json(whole), created: 0 }, { ...json(direct), created: 0 }, 'passed on as it is')
  t.notOk(whole.headers['content-encoding'], 'asked for as it can be read')
  await isUsed(13)

  const streamed = { ...asked, stream: true, stream_options: { include_usage: true } }
  const { body } = await request(gateway.url + path, {
    ...{ method: 'POST', body: JSON.stringify(streamed) },
    headers: { ...headers, 'content-type': 'application/json' },
  })
  const pieces: string[] = []
  for await (const piece of body) pieces.push(String(piece))
  t.match(pieces[0], /^data: .*"content":"one "/)
  t.notMatch(pieces[0], 'five', 'events come as they are made')
  t.match(
    pieces.join(''),
    /"choices":\[\],"usage":\{.*"total_tokens":13\}\}\n\ndata: \[DONE\]\n\n$/,
  )
  await isUsed(26)

  const other = await gateway.key({ plan: 'free' })
  await gateway.call('POST', path, { ...asked, stream: true }, other.headers)
  await until(async () => (await used(gateway, other.headers)) === 10_000)
  t.strictSame(
    [...gateway.app.front.meters.answerCosts],
    [
      ['told', '', 2],
      ['missing', '', 1],
    ],
  )

  const long = { model: 'echo', messages: [{ role: 'user', content: 'word '.repeat(5_000) }] }
  t.equal((await gateway.call('POST', path, long, headers)).status, 200)
  await isUsed(10_000)
  t.match(json(await gateway.call('POST', path, asked, headers)), { code: 'rate_limit_exceeded' })
})

t.test('in front of a model’s API, the gateway has the key and callers have theirs', async (t) => {
  const models = await startModelsWithKey(t, { authorization: 'Bearer sk-canary' })
  const forward = JSON.stringify(ofApi?.upstreams?.api.forward)
  const { gateway, headers } = await startBySample(t, ofApi, {
    upstream: models,
    upstreamMore: `forward: ${forward.replace('${OPENAI_API_KEY}', 'sk-canary')}`,
  })
  const answer = await gateway.call('POST', path, asked, headers)
  t.match(json(answer), { usage: { total_tokens: 13 } })
  await until(async () => (await used(gateway, headers)) === 8 + 4 * 5)
  const files = await gateway.call('GET', '/v1/files', undefined, headers)
  t.equal(files.status, 404, 'nothing else of the account is reached')
  t.strictSame(models.refused, [])
})

/** Runs a sample of the page until its test ends; gives its address. */
async function startSample(t: Test, [command, ending, sample]: Sample): Promise<string> {
  const file = join(folderOf(t), `backend.${ending}`)
  writeFileSync(file, sample)
  const port = await somePort()
  const child = spawn(command, [file], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  await until(
    async () => (await caller(url)('GET', '/v1/whole').catch(() => undefined)) !== undefined,
  )
  return url
}

type Sample = readonly [command: string, ending: string, sample: string]

const python = 'python3'
const hasPython = spawnSync(python, ['--version']).status === 0
const [inNode = '', inPython = ''] = ['js', 'python'].map((language) => samplesIn(language).join())
const samples: readonly (readonly [language: string, Sample, isThere: boolean])[] = [
  ['Node', [process.execPath, 'mjs', inNode], true],
  ['Python', [python, 'py', inPython], hasPython],
]

for (const [language, sample, isThere] of samples) {
  const skip = isThere ? false : `no ${language}`
  t.test(`the page's backend in ${language} tells its cost`, { skip }, async (t) => {
    const upstream = { url: await startSample(t, sample), seen: [] }
    const { gateway, headers } = await startBySample(t, ofOwn, { upstream })
    const words = 'a stream of words'
    const ask = async (path: string) => (await gateway.call('GET', path, undefined, headers)).text
    t.equal(await ask('/v1/whole'), words)
    await until(async () => (await used(gateway, headers)) === 4)
    t.equal(await ask('/v1/stream'), `${words} `)
    await until(async () => (await used(gateway, headers)) === 8)
    t.strictSame([...gateway.app.front.meters.answerCosts], [['told', '', 2]])
  })
}
