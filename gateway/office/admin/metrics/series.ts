import type { Metric, Registry } from 'prom-client'
import type { Histogram as Durations } from '../../../front/counts/histogram.ts'

/** The values of a metric's labels, in their order. */
export type Labels = readonly (string | number)[]

/** A metric whose numbers are kept elsewhere: `read` yields each with the values of its labels. */
type Series<Value> = Readonly<{
  help: string
  labels?: readonly string[]
  read: () => Iterable<readonly [Value, ...Labels]>
}>

/** A counter; the series of the label values that `begins` yields exist from the start, with 0. */
export function counter(
  registry: Registry,
  name: string,
  options: Series<number> & Readonly<{ begins?: () => Iterable<Labels> }>,
): void {
  const { labels = [], begins = () => [], read } = options
  add(registry, name, 'counter', 'sum', options, () => {
    const first = [...begins()].map((labels) => [0, ...labels] as const)
    return latest(labels, [...first, ...read()])
  })
}

/** A gauge; of several workers, `aggregator` says whose number is the whole's. */
export function gauge(
  registry: Registry,
  name: string,
  options: Series<number> & Readonly<{ aggregator: 'first' | 'min' | 'max' | 'sum' }>,
): void {
  const { labels = [], aggregator, read } = options
  add(registry, name, 'gauge', aggregator, options, () => latest(labels, [...read()]))
}

/** The numbers of series, of each the last one. A label without a value is empty. */
function latest(
  names: readonly string[],
  rows: readonly (readonly [number, ...Labels])[],
): readonly Line[] {
  const lines = rows.map(([value, ...given]) => {
    const labels = names.map((_name, i) => given[i] ?? '')
    return [labels.join('\n'), { value, labels }] as const
  })
  return [...new Map(lines).values()]
}

/** A histogram of durations. */
export function histogram(registry: Registry, name: string, options: Series<Durations>): void {
  add(registry, name, 'histogram', 'sum', options, () =>
    [...options.read()].flatMap(([{ bounds, counts, sumMs }, ...labels]) => {
      let count = 0
      const buckets = counts.map((more, i) => {
        const le = bounds[i] === undefined ? '+Inf' : bounds[i] / 1_000
        return { suffix: '_bucket', labels, le, value: (count += more) }
      })
      const sum = { suffix: '_sum', labels, value: sumMs / 1_000 }
      return [...buckets, sum, { suffix: '_count', labels, value: count }]
    }),
  )
}

type Line = Readonly<{ value: number; labels: Labels; suffix?: string; le?: number | string }>

/** Adds a metric. It is asked for its lines when metrics are written, in the form that prom-client has for its own. */
function add(
  registry: Registry,
  name: string,
  type: string,
  aggregator: string,
  { help, labels: names = [] }: Pick<Series<unknown>, 'help' | 'labels'>,
  lines: () => readonly Line[],
): void {
  const get = (): Promise<object> => {
    const values = lines().map(({ value, labels, suffix = '', le }) => ({
      value,
      metricName: name + suffix,
      labels: {
        ...Object.fromEntries(names.map((label, i) => [label, labels[i] ?? ''])),
        ...(le === undefined ? {} : { le }),
      },
    }))
    return Promise.resolve({ name, help, type, aggregator, values })
  }
  const metric: object = { name, get }
  registry.registerMetric(metric as Metric)
}
