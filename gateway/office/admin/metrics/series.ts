import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Histogram as Durations } from '../../../front/counts/histogram.ts'

/** A counter whose numbers are counted elsewhere: `read` yields each number with the values of its labels. */
export function counter(
  registry: Registry,
  name: string,
  options: Readonly<{
    help: string
    labels: readonly string[]
    /** The label values of series that exist from the start, with 0. */
    begins?: () => Iterable<readonly (string | number)[]>
    read: () => Iterable<readonly [number, ...(string | number)[]]>
  }>,
): void {
  const { help, labels, begins, read } = options
  new Counter({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset()
      for (const values of begins?.() ?? []) this.inc(labelled(labels, values), 0)
      for (const [count, ...values] of read()) this.inc(labelled(labels, values), count)
    },
  })
}

/** A gauge whose numbers are kept elsewhere; of several workers, `aggregator` says whose number is the whole's. */
export function gauge(
  registry: Registry,
  name: string,
  options: Readonly<{
    help: string
    labels?: readonly string[]
    aggregator: 'first' | 'min' | 'max' | 'sum'
    read: () => Iterable<readonly [number, ...string[]]>
  }>,
): void {
  const { help, labels = [], aggregator, read } = options
  new Gauge({
    name,
    help,
    labelNames: [...labels],
    aggregator,
    registers: [registry],
    collect() {
      this.reset()
      for (const [value, ...values] of read()) this.set(labelled(labels, values), value)
    },
  })
}

function labelled(names: readonly string[], values: readonly (string | number)[]) {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

type Measured = Readonly<{
  help: string
  labels?: readonly string[]
  read: () => Iterable<readonly [Durations, ...string[]]>
}>

export function histogram(registry: Registry, name: string, options: Measured): void {
  new MeasuredHistogram(registry, name, options)
}

/** A histogram whose durations are measured elsewhere. */
class MeasuredHistogram extends Histogram {
  readonly #options: Measured
  readonly #name: string

  constructor(registry: Registry, name: string, options: Measured) {
    const { help, labels = [] } = options
    super({ name, help, labelNames: [...labels], registers: [registry] })
    this.#name = name
    this.#options = options
  }

  override get() {
    return this.getForPromString()
  }

  /** Called by prom-client when it writes metrics. Its types have neither this method nor the result's form. */
  getForPromString(): ReturnType<Histogram['get']> {
    const { help, read } = this.#options
    const values = [...read()].flatMap((series) => this.#lines(...series))
    const written: object = { name: this.#name, help, type: 'histogram', values, aggregator: 'sum' }
    return Promise.resolve(written as Awaited<ReturnType<Histogram['get']>>)
  }

  #lines({ bounds, counts, sumMs }: Durations, ...labelValues: string[]) {
    const { labels: names = [] } = this.#options
    const labels = labelled(names, labelValues)
    let count = 0
    const buckets = counts.map((more, i) => ({
      metricName: `${this.#name}_bucket`,
      labels: { ...labels, le: bounds[i] === undefined ? '+Inf' : bounds[i] / 1_000 },
      value: (count += more),
    }))
    return [
      ...buckets,
      { metricName: `${this.#name}_sum`, labels, value: sumMs / 1_000 },
      { metricName: `${this.#name}_count`, labels, value: count },
    ]
  }
}
