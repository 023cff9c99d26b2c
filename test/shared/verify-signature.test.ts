import { createVerifier, httpbis } from 'http-message-signatures'
import { execFileSync } from 'node:child_process'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { verifySignature, type ReceivedRequest } from '../../gateway/index.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { buildGo, go } from '../support/go.ts'
import { shownFiles } from '../support/readme.ts'
import { seeded } from '../support/seeded.ts'
import { folderOf } from '../support/folder.ts'

const [first, second] = ['the-first-secret-of-both', 'the-second-secret-of-both']

/** A request with what a verifier must say of it. */
type Case = Readonly<{ why: string; request: ReceivedRequest; expected: boolean }>

/** Requests as a backend gets them from a real gateway. */
async function startSigned(t: Test, secret: string): Promise<ReceivedRequest[]> {
  const received: Promise<Omit<ReceivedRequest, 'secret'>>[] = []
  const upstream = await startUpstream(t, (request, response) => {
    received.push(whole(request))
    response.end('{}')
  })
  const { call, key } = await startGateway(t, { upstream, secret, store: 'file: ":memory:"' })
  const { headers } = await key({ account: 'Zoë & Söhne' })
  await call('GET', '/v1/x?a=%41&b=%C3%BC', undefined, headers)
  await call('POST', '/v1/pets', { name: 'Rex' }, { ...headers, 'x-request-id': 'mine-1' })
  await call('PUT', '/v1/large', 'x'.repeat(100_000), headers)
  await call('DELETE', '/v1/x', undefined, headers)
  const now = Date.now()
  return (await Promise.all(received)).map((request) => ({ ...request, secret, now }))
}

async function whole(request: IncomingMessage): Promise<Omit<ReceivedRequest, 'secret'>> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const { method = '', url: target = '', headers } = request
  return { method, target, headers, body: Buffer.concat(chunks) }
}

/** The same request with another header, or without one. */
function withHeader(request: ReceivedRequest, name: string, value?: string): ReceivedRequest {
  return { ...request, headers: { ...request.headers, [name]: value } }
}

/** Each request as it is, and forged in every part. */
function* casesOf(request: ReceivedRequest, random: (below: number) => number): Generator<Case> {
  const { method, target, headers, body, secret, now = 0 } = request
  const input = String(headers['signature-input'])
  const signature = String(headers['signature'])
  const hasDigest = headers['content-digest'] !== undefined
  const signedAtMs = Number(/;created=(\d+);/.exec(input)?.[1]) * 1_000
  const about = (why: string, more: Partial<ReceivedRequest>, expected = false): Case => ({
    why: `${method} ${target}: ${why}`,
    request: { ...request, ...more },
    expected,
  })
  const header = (name: string, value: string | undefined): Case =>
    about(`${name} is ${value}`, { headers: withHeader(request, name, value).headers })
  yield about('as it came', {}, true)
  yield about('without its body', { body: undefined }, true)
  yield about('the second of two secrets', { secret: `${second}x,${secret}` }, true)
  yield about('after a minute', { now: signedAtMs + 60_000 }, true)
  yield about('a minute early', { now: signedAtMs - 60_000 }, true)
  yield about('after more than a minute', { now: signedAtMs + 61_000 })
  yield about('more than a minute early', { now: signedAtMs - 61_000 })
  const others = secret.replaceAll('of-both', 'of-none')
  yield about('another secret', { secret: others })
  yield about('other secrets', { secret: `${others},x${others}` })
  yield about('another method', { method: method === 'GET' ? 'HEAD' : 'GET' })
  yield about('another path', { target: `/x${target}` })
  yield about('another query', { target: `${target}&` })
  yield about('a spelling of the path', { target: target.replace('/v1', '/%761') })
  const longer = Buffer.concat([body ?? Buffer.alloc(0), Buffer.from('x')])
  yield about('another body', { body: longer }, !hasDigest)
  yield about('no body', { body: Buffer.alloc(0) }, !hasDigest)
  for (const name of ['x-caller-id', 'x-caller-plan', 'x-caller-account', 'x-request-id']) {
    yield header(name, `${String(headers[name])}x`)
    yield header(name, undefined)
  }
  for (const name of ['x-caller-reference', 'x-caller-tenant', 'x_caller_id', 'x-caller']) {
    yield header(name, 'zoo')
    yield { ...header(name, ''), expected: true }
  }
  yield header('x-caller-id', '\udce9')
  const forgedInputs = [
    ...[undefined, '', 'tollgate', `${input};x`, `${input}, ${input}x`, input.toUpperCase()],
    ...[input.replace('tollgate=', 'toolgate='), input.replace(/created=/, 'created=0')],
    input.replace(/created=\d+/, `created=${Math.floor(now / 1_000) + 1}`),
    input.replace(/created=\d+/, 'created=9999999999999'),
    input.replace(/created=\d+/, 'created=٣'),
    input.replace('hmac-sha256', 'hmac-sha512'),
    input.replace('tag="tollgate"', 'tag="x"'),
    input.replace('"@method" ', ''),
    input.replace('"x-caller-account"', '"x-caller-account" "x-caller-account"'),
    input.replace(' "x-caller-account"', ''),
    input.replace('keyid="', 'keyid="0'),
  ]
  for (const forged of forgedInputs) yield header('signature-input', forged)
  const value = /:(.+):/.exec(signature)?.[1] ?? ''
  for (const forged of [
    ...[undefined, '', 'refused', 'tollgate', value, `tollgate=${value}`, `${signature}x`],
    ...[`tollgate=:${value.slice(1)}:`, `tollgate=:${value.toLowerCase()}:`],
  ])
    yield header('signature', forged)
  const beside = {
    'signature-input': `a=("date");keyid="b", ${input}`,
    signature: `a=:AA==:, ${signature}`,
  }
  yield about('beside another signature', { headers: { ...headers, ...beside } }, true)
  for (let i = 0; i < 20; i++) {
    const place = 'tollgate=:'.length + random(43)
    const letter = signature[place] === 'A' ? 'B' : 'A'
    yield header('signature', signature.slice(0, place) + letter + signature.slice(place + 1))
  }
}

/** The cases in JSON, a line each, for programs of other languages. */
function lines(cases: readonly Case[]): string {
  return cases
    .map(({ request: { method, target, headers, body, secret, now = 0 } }) => {
      const base64 = body === undefined ? null : Buffer.from(body).toString('base64')
      return JSON.stringify({
        method,
        target,
        headers: plain(headers),
        body: base64,
        secret,
        now: now / 1_000,
      })
    })
    .join('\n')
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  )
}

async function startCases(t: Test): Promise<Case[]> {
  const random = seeded(31)
  const requests = [
    ...(await startSigned(t, first)),
    ...(await startSigned(t, `${second},${first}`)),
  ]
  t.equal(requests.length, 8)
  const bodies = requests.filter(({ headers }) => headers['content-digest'] !== undefined)
  t.equal(bodies.length, 2, 'of small bodies')
  return requests.flatMap((request) => [...casesOf(request, random)])
}

t.test('a signature is told from forged ones, in Node, Python and Go', async (t) => {
  const cases = await startCases(t)
  t.ok(cases.length > 300, `${cases.length} cases`)
  const wrongBy = (verdicts: readonly boolean[]) =>
    cases.filter(({ expected }, i) => verdicts[i] !== expected).map(({ why }) => why)
  t.strictSame(
    wrongBy(cases.map(({ request }) => verifySignature(request) !== undefined)),
    [],
    'Node',
  )

  const shown = shownFiles('config/guides/backend.md')
  const folder = folderOf(t, { ...shown, 'ask.py': askPython, 'ask.go': askGo })
  const ask = (command: string, ...args: string[]) =>
    execFileSync(command, args, { input: lines(cases), encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((line) => line === 'true')
  if (has('python3', '--version'))
    t.strictSame(wrongBy(ask('python3', join(folder, 'ask.py'))), [], 'Python')
  else t.comment('Python is not there')
  if (has(go, 'version'))
    t.strictSame(wrongBy(ask(buildGo(folder, 'verify.go', 'ask.go'))), [], 'Go')
  else t.comment('Go is not there')
})

const askPython = `
import base64, json, sys
from verify import verify_signature
for line in sys.stdin:
    each = json.loads(line)
    body = None if each["body"] is None else base64.b64decode(each["body"])
    told = verify_signature(each["method"], each["target"], each["headers"], body, each["secret"], each["now"])
    print("true" if told is not None else "false")
`

const askGo = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each struct {
			Method, Target, Secret string
			Headers                map[string]string
			Body                   []byte
			Now                    float64
		}
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			panic(err)
		}
		r := &http.Request{Method: each.Method, RequestURI: each.Target, Header: http.Header{}}
		for name, value := range each.Headers {
			r.Header[http.CanonicalHeaderKey(name)] = []string{value}
		}
		fmt.Println(VerifySignature(r, each.Body, each.Secret, time.UnixMilli(int64(each.Now*1000))) != nil)
	}
}
`

function has(command: string, version: string): boolean {
  try {
    execFileSync(command, [version])
    return true
  } catch {
    return false
  }
}

t.test('nothing that a caller sends makes it throw, and no secret is an error', (t) => {
  const request = { method: 'GET', target: '/', headers: {}, secret: first }
  for (const value of [[], ['a', 'b'], '\0', 'x'.repeat(100_000), 'tollgate=', '\ud800']) {
    const headers = { signature: value, 'x-caller-id': value } as IncomingHttpHeaders
    for (const input of [value, 'tollgate=("@method");created=1']) {
      const all = { ...headers, 'signature-input': input } as IncomingHttpHeaders
      t.equal(verifySignature({ ...request, headers: all }), undefined)
    }
  }
  t.equal(verifySignature({ ...request, now: NaN }), undefined)
  for (const secret of ['', undefined as unknown as string]) {
    t.throws(() => verifySignature({ ...request, secret }), /needs the secret/)
  }
  t.throws(() => verifySignature({ ...request, secret: `${first},` }), /has an empty part/)
  t.end()
})

t.test('a library that isn’t ours finds the same signatures valid, and others not', async (t) => {
  for (const request of await startSigned(t, first)) {
    const { method, target, headers } = request
    const isValid = (changed: Record<string, string> = {}, by = first) =>
      httpbis.verifyMessage(
        {
          keyLookup: ({ keyid, alg }) => {
            t.equal(alg, 'hmac-sha256')
            return Promise.resolve({ id: keyid ?? '', verify: createVerifier(by, 'hmac-sha256') })
          },
        },
        { method, url: `http://backend${target}`, headers: { ...plain(headers), ...changed } },
      )
    t.equal(await isValid(), true, `${method} ${target}`)
    t.equal(await isValid({}, second), false)
    t.equal(await isValid({ 'x-caller-account': 'zoo' }), false)
  }
})
