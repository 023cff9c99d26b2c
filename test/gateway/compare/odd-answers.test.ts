import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { allRequests, compare } from '../../support/comparison.ts'
import { startRawUpstream } from '../../support/gateway.ts'
import { unlimited } from '../../support/operator.ts'
import { until } from '../../support/until.ts'

/** Lines of headers that an answer has twice, and what a comparison with an answer of single ones says. */
const doubled: readonly (readonly [lines: string, breaks: RegExp | undefined])[] = [
  ['Content-Type: text/plain\r\nContent-Type: application/json\r\n', undefined],
  ['Content-Type: application/json\r\nContent-Type: text/plain\r\n', /the type is text\/plain/],
  ['Content-Type: application/json\r\nContent-Type: x\r\n', /can’t be forwarded: it has several/],
  ['Content-Encoding: gzip\r\nContent-Encoding: br\r\n', undefined],
  ['Location: /a\r\nLocation: /b\r\n', undefined],
  ['Connection: keep-alive\r\nConnection: x-odd\r\n', undefined],
]

const plain = 'Content-Type: application/json\r\n'

function startAnswering(
  t: Parameters<typeof startRawUpstream>[0],
  isOdd: (path: string) => boolean,
) {
  return startRawUpstream(t, (socket) => {
    socket.on('data', (bytes) => {
      const [, path = '', number = ''] = /(\/v1\/\w+\/(\d+)) /.exec(bytes.toString()) ?? []
      const odd = isOdd(path) ? (doubled[Number(number)]?.[0] ?? '') : ''
      const type = odd.startsWith('Content-Type') ? '' : plain
      socket.write(`HTTP/1.1 200 OK\r\n${type}${odd}Content-Length: 2\r\n\r\n{}`)
    })
  })
}

t.test('headers that come twice from either backend end no comparison', async (t) => {
  const wouldBe = await startAnswering(t, (path) => !path.includes('/old/'))
  const present = await startAnswering(t, (path) => !path.includes('/new/'))
  const { gateway, url: admin } = await startAdmin(t, {
    upstream: present,
    more: unlimited,
    routes: `[ ${['old', 'new', 'both']
      .flatMap((who) => doubled.map((_each, i) => `{ path: /v1/${who}/${i}, upstream: animals }`))
      .join(', ')} ]`,
  })
  const { headers } = await gateway.key({ plan: 'p' })
  const { latest, leave } = await compare(t, admin, {
    url: wouldBe.url,
    for: '1m',
    share: allRequests,
  })
  let forwarded = 0
  for (const who of ['old', 'new', 'both']) {
    for (const i of doubled.keys()) {
      const { status } = await gateway.call('GET', `/v1/${who}/${i}`, undefined, headers)
      if (status === 200) forwarded++
    }
  }
  t.equal(
    forwarded,
    3 * doubled.length - 2,
    'a type that isn’t one is a 502, to the present backend alone',
  )
  await until(() => latest().requests.compared === forwarded)
  const breaksAt = (route: string) =>
    latest()
      .routes.find((each) => each.route === route)
      ?.breaks.map(({ what }) => what)
  for (const [i, [lines, breaks]] of doubled.entries()) {
    if (breaks) t.match(breaksAt(`/v1/new/${i}`), [breaks], lines)
    else t.strictSame(breaksAt(`/v1/both/${i}`), [], lines)
  }
  leave()
})
