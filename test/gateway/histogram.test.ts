import t from 'tap'
import {
  bucketOf,
  fineBounds,
  Histogram,
  latencyView,
  metricBounds,
  ownBounds,
  upstreamBounds,
  within,
} from '../../gateway/front/counts/histogram.ts'

const shares = [0.01, 0.5, 0.95, 0.99, 1]

t.test('percentiles are exact to their bucket', (t) => {
  let seed = 7
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
  for (const [bounds, growth] of [
    [metricBounds, 3],
    [ownBounds, Math.SQRT2],
    [upstreamBounds, Math.SQRT2],
    [fineBounds, 1.1],
  ] as const) {
    const [leastMs = 0, mostMs = 0] = [bounds[0], bounds.at(-1)]
    for (let round = 0; round < 50; round++) {
      const count = 1 + Math.floor(random() * 500)
      const spread = Math.log(mostMs / leastMs) * random()
      const times = Array.from({ length: count }, () => leastMs * Math.exp(spread * random()))
      const histogram = new Histogram(bounds)
      for (const time of times) histogram.add(time)
      times.sort((a, b) => a - b)
      for (const share of shares) {
        const exact = times[Math.max(1, Math.ceil(count * share)) - 1] ?? 0
        const found = histogram.within(share) ?? 0
        // Times are rounded to 0.01 ms. Those at the least bound are in the first bucket, which begins at 0.
        const least = Math.min(exact / growth, exact <= leastMs ? 0 : exact) - 0.01
        const isExact = found >= least && found <= exact * growth + 0.01
        t.ok(isExact, `${growth}, round ${round}, ${share}: ${found} for ${exact}`)
      }
    }
  }
  t.end()
})

t.test('a bucket ends at its bound, and the last one has no end', (t) => {
  for (const bounds of [metricBounds, ownBounds, upstreamBounds, fineBounds]) {
    bounds.forEach((bound, i) => {
      t.equal(bucketOf(bounds, bound), i)
      t.equal(bucketOf(bounds, bound * 1.000_001), i + 1)
    })
    t.equal(bucketOf(bounds, 0), 0)
    t.equal(bucketOf(bounds, 1e9), bounds.length)
    const histogram = new Histogram(bounds)
    t.equal(histogram.within(0.5), null, 'without any time')
    histogram.add(1e9)
    t.equal(histogram.within(0.5), Math.round((bounds.at(-1) ?? 0) * 100) / 100)
  }
  t.end()
})

t.test('the buckets of another process are added, as far as there are such', (t) => {
  const [one, other] = [new Histogram(metricBounds), new Histogram(metricBounds)]
  for (const time of [3, 4, 5]) one.add(time)
  for (const time of [30, 40]) other.add(time)
  one.merge([...other.counts, 9])
  t.equal(one.counts.length, metricBounds.length + 1)
  t.equal(
    one.counts.reduce((sum, count) => sum + count),
    5,
  )
  t.ok((one.within(1) ?? 0) > 25)
  t.end()
})

t.test('a part of a row is a histogram, too', (t) => {
  const row = [8, 8, ...ownBounds.map(() => 0), 0, 8]
  t.equal(latencyView(ownBounds, row, 2, 0), null)
  row[2 + bucketOf(ownBounds, 10)] = 4
  const { count, mean, p50 = 0 } = latencyView(ownBounds, row, 2, 40) ?? {}
  t.strictSame([count, mean], [4, 10])
  t.ok(p50 > 7 && p50 < 14, String(p50))
  t.equal(within(ownBounds, row, 0.5, 2), p50)
  t.end()
})
