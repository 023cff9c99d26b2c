import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { startAdmin } from '../../support/admin.ts'
import { pairFor, selfSigned } from '../../support/certificate.ts'
import { configFor } from '../../support/gateway.ts'
import { day, entry, movable, noon, startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('a certificate that ends within 14 days is a warning of the check', (t) => {
  const folder = folderOf(t)
  const warningsFor = (written: Parameters<typeof configFor>[2]): string[] => {
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, configFor('https://10.0.0.1', 'file: x.db', written))
    return readConfig(file, {}).warnings.map((line) => line.replace(/^.*: warning: /, ''))
  }
  const listening = (leftMs: number): string => {
    const { yaml } = pairFor(t, selfSigned({ endsAtMs: Date.now() + leftMs }))
    return `{ host: 127.0.0.1, port: 0, tls: ${yaml} }`
  }
  t.strictSame(warningsFor({ listen: listening(14 * day + 60_000) }), [])
  const [told, ...more] = warningsFor({ listen: listening(14 * day - 60_000) })
  t.match(told, /^listen\.tls\.cert ends at [\d: -]+Z, in less than 14 days: renew it$/)
  t.strictSame(more, [])
  t.match(warningsFor({ admin: listening(60_000) }), [/^admin\.tls\.cert .*less than a day: renew/])
  const { yaml, cert } = pairFor(t, selfSigned({ endsAtMs: Date.now() - day }))
  t.match(warningsFor({ upstreamMore: `tls: ${yaml}` }), [
    /^upstreams\.animals\.tls\.cert has ended at [\d: -]+Z: renew it$/,
  ])
  t.strictSame(warningsFor({ upstreamMore: `tls: { ca: "${cert}" }` }), [], 'a ca is not watched')
  t.match(warningsFor({ upstreamMore: `tls: { ca: "${cert}" }`, targets: '[ "http://a" ]' }), [
    /^upstreams\.animals\.tls is for https targets, and there are none$/,
  ])
  t.end()
})

t.test('its end is a metric, a line of the log once a day, and two notices', async (t) => {
  const { clock, move } = movable()
  const { got, url } = await startReceiver(t)
  const log: string[] = []
  const ending = (days: number) => selfSigned({ endsAtMs: noon + days * day })
  const [mine, theirs] = [pairFor(t, ending(30)), pairFor(t, ending(30.5))]
  const { gateway, metrics } = await startAdmin(t, {
    ...{ clock, log: { level: 'info', target: { write: (line: string) => void log.push(line) } } },
    admin: `{ host: 127.0.0.1, port: 0, tls: ${mine.yaml} }`,
    targets: '[ "https://127.0.0.1:1" ]',
    upstreamMore: `tls: ${theirs.yaml}`,
    more: `notices: [ ${entry(url, ', about: [certificate.*]')} ]`,
  })
  const { notices, certificateEnds } = gateway.app.office
  const look = async () => {
    certificateEnds.look()
    await notices.outbox.flush()
    await notices.tick()
  }
  const lines = () => log.filter((line) => line.includes('the certificate ')).length
  /** The days that are left, in quarters. */
  const series = async () =>
    [
      ...(await metrics()).matchAll(/^tollgate_certificate_expires_seconds\{use="(.*)"\} (.*)$/gm),
    ].map(([, use, seconds]) => [use, Math.round((4_000 * Number(seconds)) / day) / 4])
  await look()
  t.strictSame(await series(), [
    ['upstream/animals', 30.5],
    ['admin', 30],
  ])
  move(16 * day)
  await look()
  await look()
  t.equal(lines(), 1)
  t.match(
    log.at(-1),
    /"use":"admin".*the certificate ends at 2[\d: -]+Z, in less than 14 days: renew it/,
  )
  await until(() => got.length === 1)
  const endsAt = new Date(noon + 30 * day).toISOString()
  t.match(got[0], { type: 'certificate.ends', data: { use: 'admin', endsAt, days: 14 } })
  move(day)
  await look()
  t.equal(lines(), 3, 'one each a day')
  await until(() => got.length === 2)
  t.match(got[1]?.data, { use: 'upstream/animals', days: 14 })

  mine.write(ending(400))
  gateway.app.front.certificates.readAgain()
  move(13.25 * day)
  await look()
  await until(() => got.length === 3)
  t.match(got[2]?.data, { use: 'upstream/animals', days: 1 }, 'the renewed one is none')
  move(day)
  await look()
  t.match(log.at(-1), /"use":"upstream\/animals".*the certificate has ended at/)
  t.strictSame(await series(), [
    ['upstream/animals', -0.75],
    ['admin', 400 - 31.25],
  ])
  t.equal(got.length, 3)
})
