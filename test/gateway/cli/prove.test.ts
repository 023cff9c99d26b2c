import t from 'tap'
import { quotaOf } from '../../../gateway/front/keys/key.ts'
import { runCommand, type Answers } from '../../support/command.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import {
  bucket,
  fixedWindows,
  slidingWindow,
  startLimited,
  type Limiter,
} from '../../support/limiters.ts'

type Row = Readonly<{ row: string; verdict: string; what: string; sent: number; admitted: number }>
type Proof = Readonly<{ exact: boolean | null; rows: readonly Row[] }>

/** Proves a gateway with a limit by the second; the verdicts by row, beside the exit code and what was said. */
async function proved(url: string, limit: number, more: readonly string[] = [], key = 'k') {
  const words = [
    'prove',
    url,
    `--limit=${limit}`,
    '--window=second',
    '--json',
    '--yes',
    '--for=12s',
    ...more,
  ]
  const { code, out, stdout } = await runCommand(words, { TOLLGATE_PROVE_KEY: key })
  const { exact, rows } = stdout === '' ? none : (json(stdout) as unknown as Proof)
  return { code, out, exact, ...Object.fromEntries(rows.map((each) => [each.row, each.verdict])) }
}

/** Proves again what a busy machine left untried: a wrong verdict is never tried again. */
async function provedAs(
  expected: Readonly<Record<string, unknown>>,
  url: string,
  limit = 20,
  key?: string,
) {
  let proof = await proved(url, limit, [], key)
  for (let i = 0; i < 6; i++) {
    const told: Readonly<Record<string, unknown>> = proof
    const untried = Object.keys(expected).filter((row) => told[row] === 'not tried')
    const isTried = untried.every((row) => expected[row] === 'not tried')
    if ((isTried && proof.exact === expected['exact']) || proof.code === 1) break
    proof = await proved(url, limit, [], key)
  }
  return proof
}

const none: Proof = { exact: null, rows: [] }

const allExact = {
  ...{ exact: true, burst: 'exact', edge: 'exact' },
  ...{ burnt: 'exact', waiting: 'exact', headers: 'exact' },
}

/** Lets so many in, and then none. */
function refusingFrom(most: number): Limiter {
  let n = 0
  return () => ({ isAdmitted: ++n <= most })
}

t.test(
  'what is exact is, in each form of headers; what they don’t tell is not tried',
  async (t) => {
    const forms = {
      'X-RateLimit, Unix': (left: number, endMs: number) => ({
        'x-ratelimit-limit': 20,
        'x-ratelimit-remaining': left,
        'x-ratelimit-reset': endMs / 1_000,
      }),
      'draft-6': (left: number, endMs: number, nowMs: number) => ({
        'ratelimit-limit': 20,
        'ratelimit-remaining': left,
        'ratelimit-reset': Math.ceil((endMs - nowMs) / 1_000),
      }),
      'draft-7': (left: number) => ({ ratelimit: `limit=20, remaining=${left}, reset=1` }),
      'draft-11': (left: number) => ({
        'ratelimit-policy': '"second";q=20;w=1, "day";q=1000;w=86400',
        ratelimit: `"second";r=${left};t=1`,
      }),
    }
    const untold = { waiting: 'not tried', headers: 'not tried' }
    const ways: [string, Limiter, object][] = [
      ...Object.entries(forms).map(([form, headersOf]): [string, Limiter, object] => {
        return [form, fixedWindows(20, { headersOf, short: 0 }), {}]
      }),
      ['bare 429s', fixedWindows(20), untold],
      ['a window that slides', slidingWindow(20), { edge: 'not tried', headers: 'not tried' }],
    ]
    const each = ways.map(async ([way, limiter, untried]) => {
      const { url } = await startLimited(t, limiter)
      const expected = { code: 0, ...allExact, ...untried }
      t.has(await provedAs(expected, url), expected, way)
    })
    await Promise.all(each)
  },
)

t.test('each way of being inexact is told by its row', async (t) => {
  const told = (left: number) => ({ 'x-ratelimit-limit': 20, 'x-ratelimit-remaining': left })
  const upwards = (left: number) => told(20 - left)
  const always1 = (left: number) => told(Math.max(1, left))
  const ways: [string, Limiter, object, number?][] = [
    ['burns refused requests', fixedWindows(20, { burns: true }), {}],
    ['loses 1 % of its counts', fixedWindows(100, { counts: (n) => n % 100 > 0 }), {}, 100],
    ['tells a second too little', fixedWindows(20, { short: 1 }), { waiting: 'not exact' }],
    ['lets in one too many', fixedWindows(21), { burst: 'not exact' }],
    ['lets in one too few', fixedWindows(19), { burst: 'not exact' }],
    ['Remaining rises', fixedWindows(20, { headersOf: upwards }), { headers: 'not exact' }],
    ['429s tell 1', fixedWindows(20, { headersOf: always1 }), { headers: 'not exact' }],
    ['is a bucket', bucket(20), { burst: 'not exact' }],
    ['limits nothing', () => ({ isAdmitted: true }), { burst: 'not exact', edge: 'not tried' }],
    ['bans for good', refusingFrom(25), { burnt: 'not exact' }],
  ]
  const each = ways.map(async ([way, limiter, expected, limit = 20]) => {
    const { url } = await startLimited(t, limiter)
    const all = { code: 1, exact: false, ...expected }
    t.has(await provedAs(all, url, limit), all, way)
  })
  await Promise.all(each)
})

t.test('what is neither let in nor 429 ends it, and so does wrong use', async (t) => {
  const answering = (status: number, body = '') =>
    startUpstream(t, (_request, response) => response.writeHead(status).end(body))
  const answers = [
    [await answering(401, '{"code":"invalid_api_key"}'), /401, which is neither.*invalid_api_key/],
    [await answering(503), /503, which is neither let in nor 429/],
    [await answering(429, '{"code":"key_banned"}'), /key_banned: the key is banned, which is/],
    [await answering(429, '{"code":"too_many_at_once"}'), /take fewer --connections/],
    [{ url: 'http://127.0.0.1:1' }, /can’t be reached: .*ECONNREFUSED/],
  ] as const
  for (const [{ url }, out] of answers) t.match(await proved(url, 20), { code: 2, out })
  const { url: used } = await startUpstream(t, (_request, response) =>
    response.writeHead(429, { 'retry-after': '3600' }).end(),
  )
  t.match(await proved(used, 20), { code: 2, out: /refuses for 3600 s: a longer limit is used up/ })
  const { url, seen } = await answering(200)
  const run = (words: string, answers?: Answers, ...more: string[]) =>
    runCommand(['prove', ...words.split(' '), ...more], {}, answers)
  t.match(await run(url), { code: 2, out: /--limit is required/ })
  t.match(await run('ftp://x --limit 9'), { code: 2, out: /must be an http or https URL/ })
  t.match(await run(`${url} --limit 9 --window month`), { code: 2, out: /hour, day or week/ })
  t.match(await run(`${url} --limit 9`, undefined, '--header', 'x'), { code: 2, out: /NAME: VAL/ })
  const asked: string[] = []
  for (const agrees of [false, undefined]) {
    const confirm = (question: string) => Promise.resolve((asked.push(question), agrees))
    t.match(await run(`${url} --limit 9`, { confirm }), { code: 2, out: /nothing was sent/ })
  }
  t.match(asked[0], /^It sends GET http.* at most 181 times within 3 minutes, over 64 connections/)
  t.equal(seen.length, 0, 'nothing is sent unasked')
})

t.test(
  'the key goes as it is told, and in time that doesn’t reach the burst alone is told',
  async (t) => {
    let used = 0
    const headers = { 'x-ratelimit-limit': 20, 'retry-after': 30_000 }
    const { url, seen } = await startLimited(t, () => {
      const left = 20 - ++used
      const told = { ...headers, 'x-ratelimit-remaining': Math.max(0, left) }
      return { isAdmitted: left >= 0, headers: told }
    })
    const day = ['--window=day', '--limit=20', '--yes', '--header=X-Api-Key: a:b', '--key=abc']
    const { code, out } = await runCommand(['prove', url, ...day], { TOLLGATE_PROVE_KEY: 'x' })
    t.equal(code, 0)
    t.match(out, /^burst +exact +20 of 2\d let in, 20 fit$/m)
    t.match(out, /^burnt +not tried +no second window came in this time$/m)
    t.match(seen[0]?.headers, { authorization: 'Bearer abc', 'x-api-key': 'a:b' })
    t.match(await runCommand(['prove', url, ...day, '--for=1s'], {}), {
      code: 2,
      out: /nothing could be told of http.*: give it more time by --for/,
    })
  },
)

t.test('an embedded gateway is exact, and a ban of it is told', async (t) => {
  const gateway = await startGateway(t)
  const limits = { perSecond: 20, perMinute: 'unlimited', perDay: 'unlimited' } as const
  const { token } = await gateway.key({ limits })
  const expected = { code: 0, ...allExact }
  t.has(await provedAs(expected, `${gateway.url}/v1/pets`, 20, token), expected)
  const { token: other, key } = await gateway.key({ limits })
  await gateway.stores.quota.ban(quotaOf(key), key.id, Date.now() + 60_000)
  t.match(await proved(`${gateway.url}/v1/pets`, 20, [], other), { code: 2, out: /key_banned/ })
})
