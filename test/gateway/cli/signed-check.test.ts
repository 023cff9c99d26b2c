import t from 'tap'
import { signatureHeader, signatureRefused } from '../../../shared/signature.ts'
import { runCommand } from '../../support/command.ts'
import { startUpstream } from '../../support/gateway.ts'
import { start, token } from '../../support/operator.ts'

t.test('a backend that takes nothing unsigned is judged by the gateway, which signs', async (t) => {
  const strict = () =>
    startUpstream(t, ({ url, headers }, response) => {
      const isRefused = url === '/v1/pets' && headers['signature'] === undefined
      if (isRefused) response.setHeader(signatureHeader, signatureRefused)
      response.setHeader('content-type', 'application/json')
      response.writeHead(isRefused ? 403 : 200).end('{}')
    })
  const [present, next] = await Promise.all([strict(), strict()])
  const GATEWAY_SECRET = 'a-secret-of-both-sides'
  const { file, gateway } = await start(t, {
    upstream: present.url,
    upstreamMore: 'health: { path: /healthz }, probes: [ { request: GET /v1/pets } ]',
    environments: [{ GATEWAY_SECRET }],
  })
  const check = (environment: Record<string, string>, ...more: string[]) =>
    runCommand(['upstream', 'check', next.url, '--config', file, ...more], environment)

  const unsigned = await check({})
  t.equal(unsigned.code, 1, 'not known to be fit')
  t.match(unsigned.out, /GET \/v1\/pets +the answer to a signed request +403 .*can’t be judged: it/)
  t.match(unsigned.out, /\n1 of 2 probes can’t be judged without a signature\. Set ADMIN_TOKEN/)
  t.notMatch(unsigned.out, /would break|does not answer|Nothing was compared/)
  const { findings } = JSON.parse((await check({}, '--json')).stdout) as { findings: unknown[] }
  t.match(findings.at(-1), { breaks: [], compared: false, needsSignature: true })

  t.match(await check({ ADMIN_TOKEN: token }), { code: 0, out: /3 probes, nothing breaks\.\n$/ })
  t.match(await check({ GATEWAY_SECRET }), { code: 0, out: /3 probes, nothing breaks\.\n$/ })
  gateway.signal('SIGTERM')
  await gateway.ended
  t.match(await check({ ADMIN_TOKEN: token }), {
    code: 1,
    out: /no gateway answers at .*\. Without ADMIN_TOKEN, the command asks both backends by itself\.\n$/,
  })
})
