import { wishFrom } from '../../gateway/front/acts/wish.ts'
import { deprecationFinder } from '../../gateway/front/config/deprecations.ts'
import { canBe } from '../../gateway/front/deciding/asked.ts'
import { toldToNginx } from '../../gateway/front/deciding/nginx.ts'
import { BodyCost } from '../../gateway/front/forwarding/body-cost.ts'
import { cookiesForCaller } from '../../gateway/front/forwarding/cookies.ts'
import { headersForBackend, headersForCaller } from '../../gateway/front/forwarding/headers.ts'
import { locationFor } from '../../gateway/front/forwarding/location.ts'
import { isWithheld } from '../../gateway/front/forwarding/withheld-headers.ts'
import { clientAddress, Ranges } from '../../gateway/front/http/address.ts'
import { corsFrom } from '../../gateway/front/http/cors.ts'
import { framingFault } from '../../gateway/front/http/framing.ts'
import { lenienceOf } from '../../gateway/front/http/lenience.ts'
import { PageFile } from '../../gateway/front/http/page-files.ts'
import { pathFinder } from '../../gateway/front/http/path-finder.ts'
import { patternTest, plainTarget, readingsOf } from '../../gateway/front/http/paths.ts'
import { mayHaveTicket, ticketInQuery } from '../../gateway/front/http/ticket-in-query.ts'
import { tokenSource } from '../../gateway/front/http/token-source.ts'
import { rewriter } from '../../gateway/front/forwarding/route-forwarding.ts'
import { Via } from '../../gateway/front/http/via.ts'
import { unverified } from '../../gateway/front/jwt/form.ts'
import { keysFrom } from '../../gateway/front/jwt/key-set.ts'
import { isSubject, nameOf } from '../../gateway/front/keys/outsider.ts'
import { isWellFormed, tokenName } from '../../gateway/front/keys/token.ts'
import { isWellFormed as isWellFormedCost } from '../../gateway/front/limits/answer-cost.ts'
import { cookiesIn } from '../../gateway/office/admin/browser.ts'
import { readSecret } from '../../gateway/office/admin/given.ts'
import { pageScreen } from '../../gateway/office/admin/hosts.ts'
import { Sessions } from '../../gateway/office/admin/session.ts'
import { holderOf } from '../../gateway/office/admin/token.ts'
import { Blocks } from '../../gateway/office/operations/content.ts'
import { madePrivate, variedBy } from '../../shared/caching.ts'
import { parseJsonObject } from '../../shared/json.ts'
import { loggable, withoutTokens } from '../../shared/log.ts'
import { prefersProblems, problemBody } from '../../shared/problem.ts'
import { Refusal } from '../../shared/refusal.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import { secondsOf } from '../../shared/retry-after.ts'
import { Type } from '../../shared/schema.ts'
import { callerText, callerValue } from '../../shared/caller-value.ts'
import { digestVerdict } from '../../shared/content-digest.ts'
import { signatureChecker } from '../../shared/signature.ts'
import { othersOf } from '../../gateway/front/forwarding/caller-signatures.ts'
import { serverAttributes } from '../../shared/spans/http.ts'
import { traceParentFrom } from '../../shared/trace.ts'

/** A function that reads what strangers, callers, tokens or backends have written. */
export type Reader = Readonly<{
  name: string
  /** The files whose regular expressions it runs. */
  of: readonly string[]
  read: (text: string) => unknown
  /** The most characters that reach it. */
  longest: number
  /** A text as honest senders write it, which is repeated. */
  plain: string
  /** What stands before and behind the text; the first is around the plain one. */
  around: readonly (readonly [before: string, behind: string])[]
  /** How many times as long as the plain text another may take, where that isn't 5. */
  most?: number
}>

const bare = [['', '']] as const

/** The most characters of a target, of all headers of a request or an answer, and of a part of a token. */
const ofTarget = 8_192
const ofHeaders = 16_000
const ofToken = 6_100
const most = 65_536

const base64 = (text: string): string => Buffer.from(text).toString('base64url')
const trusted = new Ranges(['10.0.0.0/8'])

/** A request with some headers, as the readers know one. */
function request(headers: Record<string, string>): never {
  const rawHeaders = Object.entries(headers).flat()
  const socket = { remoteAddress: '10.0.0.1' }
  const all = { headers, rawHeaders, httpVersion: '1.1', method: 'OPTIONS', url: '/', socket }
  return { ...all, raw: all } as never
}

/** Reads what may be refused. */
const refusable =
  (read: (text: string) => unknown) =>
  (text: string): void => {
    try {
      read(text)
    } catch (error) {
      if (!(error instanceof Error)) throw error
    }
  }

const lenient = lenienceOf({
  initialConfig: { caseSensitive: false, ignoreTrailingSlash: true, useSemicolonDelimiter: true },
  prefix: '',
} as never)
const operation = (path: string) => ({
  ...{ operation: `OPTIONS ${path}`, sinceMs: 0, afterSunset: 'gone' as const },
  ...{ brownouts: [], extensions: [] },
})
const patterns = ['/v1/{a}/{b}', '/v1/{a}/x/{b}', '/v1/*']
const matches = patternTest(patterns)
const routeAt = pathFinder([...patterns, '/{a}/a/{b}/a'].map((path) => ({ path })))
const rewritten = rewriter({ path: '/a/b/c/*', rewrite: '/*' })
const deprecated = deprecationFinder(patterns.map(operation))
const deprecatedInApp = deprecationFinder(patterns.map(operation), lenient)

const via = new Via('gateway.example')
const cors = corsFrom({ origins: ['https://a.example'], expose: [] }, ['Authorization'])
const tokenAlone = tokenSource({ from: ['authorization'], longest: ofTarget })
const tokenOfTwo = tokenSource({ from: ['authorization', 'x-api-key'], longest: ofTarget })
const route = { path: '/v1/*', rewrite: '/inner/*' } as never

const page = new PageFile('a.js', Buffer.from('a'), 'tag')
const reply: never = Object.fromEntries(
  ['header', 'headers', 'type', 'send', 'code'].map((name) => [name, () => reply]),
) as never

const signatureFault = signatureChecker('s'.repeat(16))
const fields = (text: string) => ({ 'signature-input': text, signature: text })

const operators = [{ name: 'a', role: 'all' as const, token: 'x'.repeat(32) }]
const sessions = new Sessions(() => operators, Date.now)
const visit = { address: '', isHttps: false, origin: '' }
const signIn = Type.Object({ token: Type.String() }, { additionalProperties: false })
const bodyOf = (text: string): Blocks => {
  const blocks = new Blocks()
  blocks.add(Buffer.from(text))
  return blocks.end()
}

const costIn = (type: string) => (text: string) => {
  const paths = [['usage', 'total_tokens']]
  const body = new BodyCost({ 'content-type': type }, [{ paths, millionths: 1e6 }])
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length; i += 16_384) body.add(bytes.subarray(i, i + 16_384), true)
  return body.told
}

const longName = `x-${'long-'.repeat(11)}name, `
const members = '"id":12345,"name":"a","list":[1,2],'
const event = (usage: string): string =>
  `data: {"choices":[{"delta":{"content":"aaaaa"}}],"usage":${usage}}\n\n`
const [front, http] = ['gateway/front', 'gateway/front/http']
const forwarding = `${front}/forwarding`

type Other = Partial<Pick<Reader, 'around' | 'most'>>

function reader(
  name: string,
  of: string,
  longest: number,
  plain: string,
  read: Reader['read'],
  other: Other = {},
): Reader {
  return { name, of: of.split(' '), longest, plain, read, around: bare, ...other }
}

/**
 * Small members cost more than long texts, by the machine up to thirty times: V8 makes an object of each, and a class of those with
 * other names. Of 64 KiB anything quadratic costs a thousand times as much.
 */
const byMembers = { most: 40 }

/** All of them, with the most and the plainest that they read. */
export const readers: readonly Reader[] = [
  // Targets.
  reader('plainTarget', `${http}/paths.ts`, ofTarget, 'pets/', (text) => {
    // It remembers the last one.
    plainTarget('/')
    return plainTarget(`/${text}`)
  }),
  reader('patternTest', `${http}/paths.ts`, ofTarget, 'pets/', (text) =>
    readingsOf(`/v1/${text}`).some(matches),
  ),
  reader('pathFinder', `${http}/path-finder.ts`, ofTarget, 'pets/', (text) => routeAt(`/${text}`)),
  reader('rewriter', `${front}/forwarding/route-forwarding.ts`, ofTarget, 'pets/', (text) =>
    rewritten(`/${text}`),
  ),
  reader('deprecationFinder', `${front}/config/deprecations.ts`, ofTarget, 'pets/', (text) =>
    deprecated('OPTIONS', `/v1/${text}`, undefined),
  ),
  reader('deprecationFinder of an app', `${http}/lenience.ts`, ofTarget, 'pets/', (text) =>
    deprecatedInApp('OPTIONS', `/v1/${text}`, undefined),
  ),
  reader('problemBody', 'shared/problem.ts', ofTarget, 'pets/', (text) =>
    problemBody(new Refusal('not_found', 'x'), `/${text}`, 'id'),
  ),
  reader('loggable', 'shared/log.ts', ofTarget, '/v1/pets/12345', loggable),
  reader('loggable, as much as it reads', 'shared/log.ts', 1_024, '/v1/pets/12345', loggable),
  reader('withoutTokens of a line', 'shared/log.ts', 2_048, '/v1/pets/12345', withoutTokens),
  reader('serverAttributes', 'shared/spans/http.ts', ofTarget, '/v1/pets/12345', (text) =>
    serverAttributes({
      ...{ method: 'GET', path: text, scheme: 'https', route: '/', status: 200 },
      ...{ host: text, userAgent: text },
    }),
  ),

  // Headers of requests.
  reader('canBe', 'gateway/front/deciding/asked.ts', ofHeaders, '/v1/pets', (text) =>
    canBe({ method: 'GET', target: text }),
  ),
  reader('toldToNginx', 'gateway/front/deciding/nginx.ts', ofTarget, '/v1/pets/12345', (text) =>
    toldToNginx(new Refusal('not_found', text)),
  ),
  reader('framingFault', `${http}/framing.ts`, ofHeaders, 'a.example.', (text) =>
    framingFault(request({ host: text })),
  ),
  reader('Via', `${http}/via.ts`, ofHeaders, '1.1 proxy.example, ', (text) => via.isLoop(text), {
    around: [...bare, ['1.1 gateway.example,', ',1.1 gateway.example']],
  }),
  reader(
    'clientAddress',
    `${http}/address.ts`,
    ofHeaders,
    '10.0.0.1, ',
    (text) => clientAddress(request({ 'x-forwarded-for': text }), trusted),
    { around: [...bare, ['', ', 10.0.0.1']] },
  ),
  reader('prefersProblems', 'shared/problem.ts', ofHeaders, 'text/html, ', prefersProblems, {
    around: [...bare, ['problem,', '']],
  }),
  reader('prefersProblems, as much as it reads', 'shared/problem.ts', 512, 'a/b, ', (text) =>
    prefersProblems(`a;${text}`.slice(0, 512)),
  ),
  reader('headersForBackend: Connection', `${forwarding}/headers.ts`, 1_024, longName, (text) =>
    headersForBackend(request({ connection: text }), false),
  ),
  reader(
    'headersForBackend: Cookie',
    `${forwarding}/cookies.ts`,
    ofHeaders,
    'a=bbbbbbbb; ',
    (text) => headersForBackend(request({ cookie: text }), true),
    { around: [...bare, ['tollgate_console=a;', ';tollgate_console=b']] },
  ),
  reader(
    'isWithheld',
    `${forwarding}/withheld-headers.ts`,
    ofHeaders,
    'x-header-of-mine-',
    isWithheld,
  ),
  reader('Cors', `${http}/cors.ts`, ofHeaders, 'x-header, ', (text) =>
    cors.preflightHeaders(
      request({
        ...{ origin: 'https://a.example', 'access-control-request-method': 'GET' },
        'access-control-request-headers': text,
      }),
    ),
  ),
  reader('traceParentFrom', 'shared/trace.ts', ofHeaders, '00-', traceParentFrom, {
    around: [...bare, [`01-${'1'.repeat(32)}-${'1'.repeat(16)}-01-`, '']],
  }),
  reader('requestIdFrom', 'shared/request-id.ts', 128, 'order-66-', requestIdFrom),
  reader('wishFrom', `${front}/acts/wish.ts shared/units.ts`, ofHeaders, 'minute', wishFrom),
  reader('ticketInQuery', `${http}/ticket-in-query.ts`, ofTarget, 'a=1&', ticketInQuery, {
    around: [
      ['/?ticket=', ''],
      ['/?', '&ticket='],
    ],
  }),
  reader('mayHaveTicket', `${http}/ticket-in-query.ts`, ofHeaders, 'text/html, ', (text) =>
    mayHaveTicket(Object.assign(request({ accept: text }), { method: 'GET' })),
  ),
  reader(
    'tokenSource',
    `${http}/token-source.ts`,
    ofHeaders,
    'token',
    (text) => tokenAlone(request({ authorization: text })),
    { around: [['Bearer ', ''], ...bare] },
  ),
  reader('tokenSource of two', `${http}/token-source.ts`, ofHeaders, 'token', (text) =>
    tokenOfTwo(request({ authorization: `Bearer ${text}`, 'x-api-key': text })),
  ),
  reader('isWellFormed', `${front}/keys/token.ts`, ofTarget, 'token', (text) => [
    isWellFormed(text),
    tokenName(text),
  ]),
  reader('Accept-Encoding of a page', `${http}/page-files.ts`, ofHeaders, 'gzip, br, ', (text) =>
    page.answer(request({ 'accept-encoding': text }), reply),
  ),
  reader('If-None-Match of a page', `${http}/page-files.ts`, ofHeaders, '"tag-gzip", ', (text) =>
    page.answer(request({ 'if-none-match': text }), reply),
  ),
  reader('both, as much as is read', `${http}/page-files.ts`, 512, '"a", ', (text) =>
    page.answer(request({ 'accept-encoding': text, 'if-none-match': text }), reply),
  ),
  reader(
    'signatureChecker',
    'shared/signature.ts',
    ofHeaders,
    'a, ',
    (text) => signatureFault({ method: 'GET', target: '/', headers: fields(text) }, 0),
    { around: [...bare, ['tollgate=(', ')'], ['tollgate=("', '")']] },
  ),
  reader(
    'dictionaryIn',
    'shared/dictionary.ts shared/content-digest.ts gateway/front/forwarding/caller-signatures.ts',
    ofHeaders,
    'a, ',
    (text) => [digestVerdict(text, Buffer.alloc(0)), othersOf({ input: text, signature: text })],
    { around: [...bare, ['a=(', ''], ['a="', ''], ['a=:', ''], ['a;b;', ''], ['a=%"', '']] },
  ),

  reader('callerValue', 'shared/caller-value.ts', 1_024, 'a', (text) =>
    callerText(callerValue(text)),
  ),

  // Tokens of others.
  reader(
    'unverified: its header',
    `${front}/jwt/form.ts shared/json.ts`,
    ofToken,
    members,
    (text) => unverified(`${base64(text)}.e30.x`),
    {
      around: [
        ['{"alg":"a",', '"z":1}'],
        ...bare,
        ['{"a":"', ''],
        ['{"alg":"a","b":"', '"}'],
        ['{"alg":"a","b":[', '1]}'],
      ],
    },
  ),
  reader(
    'unverified: its claims',
    `${front}/jwt/form.ts shared/json.ts`,
    ofToken,
    members,
    (text) => unverified(`${base64('{"alg":"a"}')}.${base64(text)}.x`),
    {
      around: [['{', '"z":1}'], ...bare, ['{"a":"', ''], ['{"a":"', '"}'], ['{"a":[', '1]}']],
    },
  ),
  reader('unverified: its form', `${front}/jwt/form.ts`, ofTarget, 'token', unverified, {
    around: [...bare, [`${base64('{"alg":"a"}')}.`, '']],
  }),
  reader('isSubject', `${front}/keys/outsider.ts shared/printable.ts`, 255, 'alice', (text) =>
    isSubject(text) ? nameOf(text) : undefined,
  ),
  reader('keysFrom', `${front}/jwt/key-set.ts`, most, `{${members}"z":1},`, refusable(keysFrom), {
    around: [['{"a":[', '1]}'], ...bare, ['{', '"z":1}'], ['{"keys":[', '{}]}']],
    ...byMembers,
  }),

  // Answers of backends.
  reader('headersForCaller: Connection', `${forwarding}/headers.ts`, ofHeaders, longName, (text) =>
    headersForCaller({ connection: text }, 200, via),
  ),
  reader('headersForCaller: values', `${forwarding}/headers.ts`, ofHeaders, 'a.example ', (text) =>
    headersForCaller({ 'x-a': text, location: text, via: text }, 200, via),
  ),
  reader(
    'headersForCaller: types',
    `${forwarding}/headers.ts`,
    ofHeaders,
    'a=b; ',
    (text) => headersForCaller({ 'content-type': [text, 'a/b'] as never }, 200, via),
    {
      around: [
        ['a/b; ', 'a=b'],
        ['a/b', ''],
        ['a/b;', '!'],
        ['a/b; a="', ''],
      ],
    },
  ),
  reader('cookiesForCaller', `${forwarding}/cookies.ts`, ofHeaders, 'a=bbbbbbbb; ', (text) =>
    cookiesForCaller([text, text]),
  ),
  reader(
    'locationFor',
    `${forwarding}/location.ts`,
    ofHeaders,
    'pets/',
    (text) => locationFor(text, route, ['https://a'], 'a.example'),
    { around: [...bare, ['https://a', ''], ['https://a/', ''], ['https://a.example', '']] },
  ),
  reader('Cors: exposed', `${http}/cors.ts`, ofHeaders, 'x-header, ', cors.exposed),
  reader('variedBy', 'shared/caching.ts', ofHeaders, 'accept, ', (text) =>
    variedBy('Origin', text),
  ),
  reader('madePrivate', 'shared/caching.ts', ofHeaders, 'max-age=1, ', madePrivate),
  reader('both, as much as is read', 'shared/caching.ts', 512, 'max-age=1, ', (text) => [
    variedBy('Origin', text),
    madePrivate(text),
  ]),
  reader('secondsOf', 'shared/retry-after.ts', ofHeaders, '1', (text) => secondsOf(text, 0)),
  reader('isWellFormedCost', `${front}/limits/answer-cost.ts`, ofHeaders, '1', isWellFormedCost),
  reader(
    'BodyCost of JSON',
    `${forwarding}/body-cost.ts`,
    most,
    `{${members}"z":1},`,
    costIn('application/json'),
    {
      around: [
        ['{"data":[', '1],"usage":{"total_tokens":1}}'],
        ...bare,
        ['{', '"usage":{"total_tokens":1}}'],
        ['total_tokens', ''],
        ['{"total_tokens":"', '"}'],
      ],
      ...byMembers,
    },
  ),
  reader(
    'BodyCost of events',
    `${forwarding}/body-cost.ts`,
    most,
    event('{"total_tokens":1}'),
    costIn('text/event-stream'),
    {
      around: [
        ...bare,
        ['data: {', '"usage":{"total_tokens":1}}\n\n'],
        ['data: ', 'total_tokens\n\n'],
        ['data: {"total_tokens":[', '1]}\n\n'],
      ],
      ...byMembers,
    },
  ),
  reader(
    'BodyCost of a type',
    `${forwarding}/body-cost.ts`,
    ofHeaders,
    'charset=utf-8; ',
    (text) => costIn(text)(''),
    { around: [['application/json;', ''], ...bare, ['application/', '']] },
  ),

  // The admin address, before anybody is known.
  reader(
    'cookies of the console',
    'gateway/office/admin/browser.ts',
    ofHeaders,
    'a=bbbbbbbb; ',
    (text) => sessions.find(cookiesIn(text, visit), 'x'),
  ),
  reader('pageScreen', 'gateway/office/admin/hosts.ts', ofHeaders, 'a.example', (text) =>
    pageScreen({ hosts: [] } as never)(request({ host: text })),
  ),
  reader('holderOf', 'gateway/office/admin/token.ts', ofHeaders, 'token', (text) =>
    holderOf(`Bearer ${text}`, operators),
  ),
  reader(
    'the body of a sign-in',
    'gateway/office/admin/given.ts',
    16_384,
    'token',
    refusable((text) => readSecret(bodyOf(text), signIn)),
    {
      around: [['{"token":"', '"}'], ...bare, ['{', '"z":1}'], ['{"token":[', '1]}']],
      ...byMembers,
    },
  ),

  // The animal store of the examples.
  reader('parseJsonObject', 'shared/json.ts', most, '[1,"a"],', refusable(parseJsonObject), {
    around: [['{"data":[', '1]}'], ...bare, ['{', '"z":1}'], ['{"a":"', '"}']],
    ...byMembers,
  }),
]

/** Files whose regular expressions read nothing of strangers, callers, tokens or backends, by what they read. */
export const others: Readonly<Record<string, string>> = {
  'what operators write in files, commands and environments': `
    ${front}/certificates.ts ${front}/fleet/in-force.ts ${front}/forwarding/health.ts
    ${front}/forwarding/target-url.ts ${front}/guarded-routes.ts ${http}/key-header.ts ${http}/networks.ts
    ${front}/portal/document.ts ${front}/portal/gateway-path.ts ${front}/portal/llms.ts
    ${front}/keys/import.ts ${front}/keys/line.ts ${front}/keys/origins.ts ${front}/keys/reference.ts ${front}/keys/scopes.ts ${front}/keys/settings.ts
    ${front}/limits/limit-settings.ts ${front}/routes.ts ${front}/traces/spans-of.ts shared/serve.ts
    shared/spans/collector.ts shared/spans/open.ts shared/secret-files.ts shared/unix-socket.ts gateway/office/admin/operations.ts`,
  'what operators send after they were known':
    'gateway/office/admin/body.ts shared/schema-check.ts',
  'what the gateway has made itself': `
    ${front}/generation.ts ${http}/page-scripts.ts ${http}/strip-types.ts shared/commas.ts shared/csv-text.ts
    shared/pretty.ts shared/sqlite.ts`,
  'ids, by one kind of characters from the first on': `${http}/request-ids.ts ${front}/keys/tickets.ts`,
  'one word, at the beginning': `${forwarding}/forwarded-request.ts`,
  'what stores hold': `${front}/fleet/shared-fleet.ts ${front}/swaps/store.ts ${front}/keys/last-use-store.ts ${front}/limits/past-points.ts ${front}/limits/purse.ts`,
  'a few characters, after a look at their number': `${front}/counts/kept-refusal.ts ${front}/portal/usage.ts shared/int64.ts
    gateway/office/admin/browser.ts`,
}
