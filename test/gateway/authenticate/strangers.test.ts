import t from 'tap'
import {
  clientAddress,
  neighbourhoodOf,
  plainAddress,
  Ranges,
  unreadableAddress,
} from '../../../gateway/front/http/address.ts'
import { newKeyId, newToken } from '../../../gateway/front/keys/token.ts'
import { startGateway } from '../../support/gateway.ts'
import { raw } from '../../support/http.ts'
import { isRefused } from '../../support/refusals.ts'

t.test('strangers', async (t) => {
  t.test('over their limit get 429, keys from the same address go on', async (t) => {
    let now = 1_790_000_010_000
    const { call, key, stores } = await startGateway(t, {
      clock: () => now,
      more: 'strangers: { perMinute: 5, perDay: 8 }',
    })
    const [warm, cold] = [await key(), await key()]
    const works = async ({ headers }: typeof warm) =>
      (await call('GET', '/v1/pets', undefined, headers)).status
    t.equal(await works(warm), 200)
    for (let i = 0; i < 5; i++) t.equal((await call('GET', '/v1/pets')).status, 401)

    const find = stores.keys.find.bind(stores.keys)
    let lookups = 0
    stores.keys.find = (hash) => (lookups++, find(hash))
    for (const authorization of [
      undefined,
      'nonsense',
      'Bearer x',
      `Bearer ${newToken(newKeyId())}`,
    ]) {
      const answer = await call(
        'GET',
        '/v1/pets',
        undefined,
        authorization ? { authorization } : {},
      )
      isRefused(t, answer, 429, 'too_many_failed_attempts')
      t.equal(answer.headers['retry-after'], '30', 'until the minute ends')
      t.equal(answer.headers['cache-control'], 'no-store')
    }
    t.equal(lookups, 0, 'without a look at the store')
    t.equal(await works(warm), 200, 'a key that was met')
    t.equal(await works(cold), 200, 'and one that was not')
    now += 30_000
    for (let i = 0; i < 3; i++) t.equal((await call('GET', '/v1/pets')).status, 401, 'a new minute')
    const dayIsOver = await call('GET', '/v1/pets')
    t.equal(dayIsOver.status, 429)
    now += Number(dayIsOver.headers['retry-after']) * 1_000
    t.equal((await call('GET', '/v1/pets')).status, 401, 'who waits as long as told is heard again')
  })

  t.test('are told apart by the address that trusted proxies name', async (t) => {
    const { call } = await startGateway(t, {
      more: 'strangers: { perMinute: 2, perDay: 100 }\ntrustedProxies: [127.0.0.0/8]',
    })
    const from = async (forwarded: string) =>
      (await call('GET', '/v1/pets', undefined, { 'x-forwarded-for': forwarded })).status
    t.strictSame(
      [await from('9.9.9.9'), await from('9.9.9.9'), await from('9.9.9.9')],
      [401, 401, 429],
    )
    t.equal(await from('8.8.8.8'), 401, 'another address')
    t.equal(
      await from('8.8.8.8, 9.9.9.9'),
      429,
      'what the client claims to the left is not believed',
    )
    t.equal(await from('9.9.9.9, 127.0.0.1'), 429, 'a trusted hop is passed over')
  })

  t.test('gain nothing by twenty invented hops', async (t) => {
    const { url, key } = await startGateway(t, {
      more: 'strangers: { perMinute: 2, perDay: 100 }\ntrustedProxies: [127.0.0.0/8]',
    })
    const { token } = await key({ addresses: ['127.0.0.0/8'] })
    const ask = async (hops: string, more = '') =>
      Number(
        (
          await raw(
            url,
            `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${hops}${more}\r\n\r\n`,
          )
        ).slice(9, 12),
      )
    const authorized = `Authorization: Bearer ${token}\r\n`
    const invented = Array.from({ length: 20 }, (_, i) => `127.0.0.${i + 1}`).join(', ')
    t.equal(await ask('', authorized), 200, 'the proxy itself')
    t.equal(await ask('X-Forwarded-For: 127.0.0.9\r\n', authorized), 200, 'its neighbour')
    for (const hops of ['203.0.113.9', `${invented}, 203.0.113.9`, '', 'unknown', '[::1]:1']) {
      const header = `X-Forwarded-For: ${hops}\r\n`
      t.equal(await ask(header, authorized), 403, `the key, from "${hops}"`)
    }
    const statuses = []
    for (let i = 0; i < 3; i++) {
      statuses.push(await ask(`X-Forwarded-For: ${invented}, 10.0.${i}.1, 203.0.113.9\r\n`))
    }
    t.strictSame(statuses, [401, 401, 429], 'and it is counted')
  })

  t.test('cannot forge their address where no proxy is trusted', async (t) => {
    const { call } = await startGateway(t, { more: 'strangers: { perMinute: 1, perDay: 100 }' })
    const statuses = []
    for (const ip of ['1.1.1.1', '2.2.2.2'])
      statuses.push((await call('GET', '/', undefined, { 'x-forwarded-for': ip })).status)
    t.strictSame(statuses, [401, 429])
  })
})

t.test('addresses', (t) => {
  const trusted = new Ranges(['10.0.0.0/8', '127.0.0.1', '2001:db8::/32'])
  const client = (socket: string, forwarded?: string | string[]) =>
    clientAddress(
      {
        socket: { remoteAddress: socket },
        headers: { ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) },
      },
      trusted,
    )
  t.equal(client('8.8.8.8', '1.2.3.4'), '8.8.8.8', 'nobody is believed who is not trusted')
  t.equal(client('10.0.0.1'), '10.0.0.1', 'a proxy that asks by itself is itself')
  t.equal(client('10.0.0.1', '10.2.2.2'), '10.2.2.2', 'all trusted: the first of them')
  t.equal(clientAddress({ socket: {} }, trusted), '', 'who has gone has no address')
  const invented = Array<string>(30).fill('10.1.1.1').join(',')
  for (const [forwarded, address] of [
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3.4, 10.9.9.9, ::ffff:10.1.1.1', '1.2.3.4'],
    [['1.1.1.1', '1.2.3.4'], '1.2.3.4'],
    // As some proxies write it.
    ['203.0.113.9:5678', '203.0.113.9'],
    ['[2001:db9::1]:443', '2001:db9::1'],
    ['[2001:db9::1]', '2001:db9::1'],
    ['[::1]', '::1'],
    ['203.0.113.9,10.1.1.1:80', '203.0.113.9'],
    ['203.0.113.9, [2001:db8::7]:443', '203.0.113.9'],
    ['[::ffff:203.0.113.9]:80', '203.0.113.9'],
    ['  203.0.113.9\t', '203.0.113.9'],
    // However IPv4 is mapped into IPv6, it is IPv4.
    ['::ffff:c000:201', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:c000:0201', '192.0.2.1'],
    ['0::ffff:192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, ::ffff:a01:101', '203.0.113.9'],
    ['::ffff:0:c000:201', '::ffff:0:c000:201'],
    ['1::ffff:c000:201', '1::ffff:c000:201'],
    // Of invented hops none counts but the last, which the proxy has written.
    [`${invented}, 203.0.113.9`, '203.0.113.9'],
    [`203.0.113.9, ${invented}`, '10.1.1.1'],
    [`${'x,'.repeat(5_000)}203.0.113.9`, '203.0.113.9'],
    // An unreadable address is nobody's, and never the proxy's.
    ['5.5.5.5, nonsense, 10.1.1.1', unreadableAddress],
    ['', unreadableAddress],
    [' ', unreadableAddress],
    [',', unreadableAddress],
    ['203.0.113.9,', unreadableAddress],
    ['unknown', unreadableAddress],
    ['_hidden', unreadableAddress],
    ['203.0.113.9:', unreadableAddress],
    ['203.0.113.9:80:80', unreadableAddress],
    ['1.2.3.256', unreadableAddress],
    ['[203.0.113.9', unreadableAddress],
    ['[]:80', unreadableAddress],
    ['[::1]x', unreadableAddress],
    ['::ffff:1.2.3.4.5', unreadableAddress],
  ] as const) {
    t.equal(client('10.0.0.1', forwarded as string | string[]), address, JSON.stringify(forwarded))
  }
  t.equal(client('::ffff:10.0.0.1', '1.2.3.4'), '1.2.3.4', 'a proxy at a socket for both')
  t.equal(client('2001:db8::1', '2a00::5'), '2a00::5')
  t.notOk(new Ranges(['0.0.0.0/0', '::/0']).has(unreadableAddress), 'it is in no range')
  t.equal(plainAddress('::FFFF:1.2.3.4'), '1.2.3.4')
  t.equal(neighbourhoodOf('1.2.3.4'), '1.2.3.4')
  for (const address of [
    '2001:db8:1:2:3:4:5:6',
    '2001:db8:1:2::',
    '2001:0db8:0001:0002::ffff',
    '2001:db8:1:2::1%eth0',
  ]) {
    t.equal(neighbourhoodOf(address), '2001:db8:1:2::/64', address)
  }
  t.equal(neighbourhoodOf('::1'), '0:0:0:0::/64')
  t.equal(neighbourhoodOf('1::2:3:4:5:1.2.3.4'), '1:0:2:3::/64')
  t.equal(neighbourhoodOf(unreadableAddress), unreadableAddress, 'a name of its own')
  for (const bad of ['10.0.0.0/33', 'x', '10.0.0.0/8/8', '::/129', '10.0.0.0/', '']) {
    t.throws(
      () => new Ranges([bad]),
      { message: `"${bad}" is neither an address nor a range` },
      bad,
    )
  }
  t.end()
})
