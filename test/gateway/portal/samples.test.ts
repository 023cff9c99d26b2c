import { spawn, spawnSync } from 'node:child_process'
import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import {
  languages,
  samples,
  type Call,
  type Language,
} from '../../../gateway/front/portal/page/samples.ts'
import { seeded } from '../../support/seeded.ts'
import { folderOf } from '../../support/folder.ts'

const token = 'tg_s3cret$HOME'

/** How a sample is run from a file. */
const runners: Readonly<Record<Language, readonly [ending: string, program: string]>> = {
  curl: ['.sh', 'sh'],
  JavaScript: ['.mjs', process.execPath],
}

type Arrived = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & Readonly<{ body: string }>

/** Takes requests, and keeps the latest; each is answered with 418, which no sample may take for a failure of its own. */
async function startListener(t: Test) {
  const seen: { latest: Arrived | undefined } = { latest: undefined }
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    void buffer(request).then((body) => {
      seen.latest = { method, url, headers, body: body.toString() }
      response.writeHead(418).end('short and stout')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function run(t: Test, language: Language, call: Call): Promise<string> {
  const [ending, program] = runners[language]
  const file = join(folderOf(t), `sample${ending}`)
  writeFileSync(file, samples[language](call))
  const child = spawn(program, [file], { env: { ...process.env, KEY: token } })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return language === 'curl' ? output : output + errors
}

const key = { name: 'Authorization', before: 'Bearer ' }
const plain = { method: 'GET', headers: {}, body: undefined, key }
const json = { 'Content-Type': 'application/json' }
const nasty = '\'"`\\ ${HOME} $KEY $(id) %s !! \'\'\' """ \\n \\u0041 #{x} ünö 🐕'

/** Requests by their paths. */
const calls: readonly Readonly<Omit<Call, 'url'> & { path: string }>[] = [
  { ...plain, path: '/v1/pets?limit=2&status=a%20b%26' },
  { ...plain, path: "/v1/it's/{a,b}/[1-3]/*?x=[0-9]&y='`$(id)" },
  { ...plain, path: '/v1/pets', key: { name: 'X-Api-Key', before: '' } },
  { ...plain, path: '/v1/pets', method: 'HEAD' },
  { ...plain, path: '/v1/pets/1', method: 'DELETE' },
  { ...plain, path: '/v1/pets', headers: { "X-It's`$": 'say "hi" to \\ \'me\' $KEY `id` %s' } },
  {
    ...plain,
    path: '/v1/pets',
    method: 'POST',
    headers: json,
    body: `{\n  "name": "${nasty}"\n}\n`,
  },
  { ...plain, path: '/v1/pets', method: 'PUT', headers: json, body: nasty },
  { ...plain, path: '/v1/pets', method: 'QUERY', headers: json, body: '@/etc/hostname' },
  { ...plain, path: '/v1/pets', method: 'PATCH', headers: json, body: '' },
  {
    ...plain,
    path: '/v1/pets',
    method: 'POST',
    headers: json,
    body: '\ufeff\tone\r\ntwo\u2028\u2029\u0001\n',
  },
]

for (const language of languages) {
  const [, program] = runners[language]
  const isMissing = spawnSync(program, ['--help']).error !== undefined
  const skip = isMissing && `${program} isn’t on this machine`
  t.test(`a sample in ${language} sends what the form says, to the byte`, { skip }, async (t) => {
    const { seen, url } = await startListener(t)
    const check = async ({ path, ...rest }: (typeof calls)[number]): Promise<void> => {
      const call = { ...rest, url: new URL(url + path).href }
      const said = await run(t, language, call)
      const { method, headers, body } = call
      const { latest } = seen
      seen.latest = undefined
      const sent = { method, url: call.url.slice(url.length), body: body ?? '' }
      t.strictSame({ method: latest?.method, url: latest?.url, body: latest?.body }, sent)
      const values = Object.entries(headers).map(([name]) => latest?.headers[name.toLowerCase()])
      t.strictSame(values, Object.values(headers))
      t.equal(latest?.headers[call.key.name.toLowerCase()], call.key.before + token)
      t.match(said, '418', `${method} ${path}`)
      if (method !== 'HEAD') t.match(said, 'short and stout')
    }
    for (const call of calls) await check(call)
    const below = seeded(7)
    const pieces = [...nasty, '\n', '\n', '\r', '\t', '\u2028', '${', '\\', '@', '\ufeff']
    for (let round = 0; round < 10; round++) {
      const body = Array.from({ length: 30 }, () => pieces[below(pieces.length)]).join('')
      await check({ ...plain, path: '/x', method: 'POST', headers: json, body })
    }
  })
}

t.test(
  'a method that is no word is quoted, so that a pasted command runs nothing else',
  async (t) => {
    const sample = samples.curl({ ...plain, method: "X; echo '", url: 'http://127.0.0.1/' })
    t.match(sample, `curl -i -X 'X; echo '\\''' 'http://127.0.0.1/'`)
  },
)
