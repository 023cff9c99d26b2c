import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { verifySignature, type ReceivedRequest } from '../../gateway/index.ts'
import { startForCaller } from '../support/first-caller.ts'
import { startUpstream } from '../support/gateway.ts'
import { root } from '../support/process.ts'
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
  const { call, headers, get } = await startForCaller(t, {
    upstream,
    secret,
    store: 'file: ":memory:"',
  })
  await get('/v1/x?a=%41&b=%C3%BC')
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
  const signature = String(headers['x-gateway-signature'])
  const signedAtMs = Number(/^t=(\d+)/.exec(signature)?.[1]) * 1_000
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
  yield about('another path', { target: `${target}/` })
  yield about('another query', { target: `${target}&` })
  yield about('a spelling of the path', { target: target.replace('/v1', '/%761') })
  yield about(
    'another body',
    { body: Buffer.concat([body ?? Buffer.alloc(0), Buffer.from('x')]) },
    !signature.includes(',b='),
  )
  yield about('no body', { body: Buffer.alloc(0) }, !signature.includes(',b='))
  for (const name of ['x-caller-id', 'x-caller-plan', 'x-request-id']) {
    yield header(name, `${String(headers[name])}x`)
    yield header(name, undefined)
  }
  const [v1 = ''] = /[0-9a-f]{64}/.exec(signature) ?? []
  yield header('x-caller-id', '\udce9')
  for (const forged of [
    undefined,
    '',
    'refused',
    signature.toUpperCase(),
    ` ${signature}`,
    `${signature} `,
    `${signature}\n`,
    `${signature},b=${v1}`,
    `${signature}, ${signature}`,
    signature.replace('t=', 't=0'),
    signature.replace(/t=\d+/, `t=${Math.floor(now / 1_000) + 1}`),
    signature.replace(/t=\d+/, 't=9999999999999'),
    signature.replace(/t=\d+/, 't=٣'),
    signature.replace(v1, v1.slice(1)),
    signature.replace('v1=', 'v2='),
    `${signature.split(',b=', 1)[0]},b=${v1}`,
  ]) {
    const isUntouched = forged === signature
    yield { ...header('x-gateway-signature', forged), expected: isUntouched }
  }
  for (let i = 0; i < 20; i++) {
    const place = signature.indexOf('v1=') + 3 + random(64)
    const digit = signature[place] === '0' ? '1' : '0'
    yield header(
      'x-gateway-signature',
      signature.slice(0, place) + digit + signature.slice(place + 1),
    )
  }
}

/** The code of a language in the README for those who deploy. */
function shownIn(language: string): string {
  const readme = readFileSync(join(root, 'config/deploy/README.md'), 'utf8')
  const [, code] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(readme) ?? []
  if (code === undefined) throw new Error(`the README has no ${language}`)
  return code
}

/** The cases in JSON, a line each, for programs of other languages. */
function lines(cases: readonly Case[]): string {
  return cases
    .map(({ request: { method, target, headers, body, secret, now = 0 } }) => {
      const given = { 'x-gateway-signature': '', ...plain(headers) }
      const base64 = body === undefined ? null : Buffer.from(body).toString('base64')
      return JSON.stringify({
        method,
        target,
        headers: given,
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
  const bodies = requests.filter(({ headers }) =>
    /,b=/.test(String(headers['x-gateway-signature'])),
  )
  t.equal(bodies.length, 2, 'of small bodies')
  return requests.flatMap((request) => [...casesOf(request, random)])
}

t.test('a signature is told from forged ones, in Node, Python and Go', async (t) => {
  const cases = await startCases(t)
  t.ok(cases.length > 300, `${cases.length} cases`)
  const wrongBy = (verdicts: readonly boolean[]) =>
    cases.filter(({ expected }, i) => verdicts[i] !== expected).map(({ why }) => why)
  t.strictSame(wrongBy(cases.map(({ request }) => verifySignature(request))), [], 'Node')

  const folder = folderOf(t)
  const ask = (command: string, args: string[], env = {}) =>
    execFileSync(command, args, {
      input: lines(cases),
      encoding: 'utf8',
      env: { ...process.env, ...env },
    })
      .trim()
      .split('\n')
      .map((line) => line === 'true')
  if (has('python3', '--version')) {
    const python = join(folder, 'verify.py')
    writeFileSync(python, `${shownIn('python')}${afterPython}`)
    t.strictSame(wrongBy(ask('python3', [python])), [], 'Python')
  } else t.comment('Python is not there')
  if (!has('go', 'version')) return t.comment('Go is not there')
  const go = join(folder, 'verify.go')
  writeFileSync(go, `${beforeGo}${shownIn('go')}${afterGo}`)
  t.strictSame(wrongBy(ask('go', ['run', go], { GOCACHE: join(folder, 'cache') })), [], 'Go')
})

const afterPython = `
import base64, json, sys
for line in sys.stdin:
    each = json.loads(line)
    body = None if each["body"] is None else base64.b64decode(each["body"])
    told = verify_signature(each["method"], each["target"], each["headers"], body, each["secret"], each["now"])
    print("true" if told else "false")
`

const beforeGo = `package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

`

const afterGo = `
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
			r.Header.Set(name, value)
		}
		fmt.Println(VerifySignature(r, each.Body, each.Secret, time.UnixMilli(int64(each.Now*1000))))
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
  for (const value of [[], ['a', 'b'], '\0', 'x'.repeat(100_000), 't=1,v1=', '\ud800']) {
    const headers = { 'x-gateway-signature': value, 'x-caller-id': value } as IncomingHttpHeaders
    t.equal(verifySignature({ ...request, headers }), false)
  }
  t.equal(verifySignature({ ...request, now: NaN }), false)
  for (const secret of ['', undefined as unknown as string]) {
    t.throws(() => verifySignature({ ...request, secret }), /needs the secret/)
  }
  t.throws(() => verifySignature({ ...request, secret: `${first},` }), /has an empty part/)
  t.end()
})
