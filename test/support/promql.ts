/** One selector of a query: the metric, and what it asks of labels. */
export type Selector = Readonly<{
  metric: string
  matchers: readonly Readonly<{ label: string; value: string }>[]
}>

/** The selectors of a query. */
export function selectorsIn(promql: string): Selector[] {
  return [...promql.matchAll(/\b(tollgate_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = '', inside = '']) => ({
      metric,
      matchers: [...inside.matchAll(/(\w+)\s*(?:=~|!=|=)\s*"([^"]*)"/g)].map(
        ([, label = '', value = '']) => ({ label, value }),
      ),
    }),
  )
}

/** The labels by which a query groups. */
export function groupsIn(promql: string): string[] {
  return [...promql.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(/, */),
  )
}

/** The values of each label of each metric in a text for Prometheus. */
export function labelsIn(metrics: string): Map<string, Map<string, Set<string>>> {
  const found = new Map<string, Map<string, Set<string>>>()
  for (const [, name = '', inside = ''] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const labels = found.get(name) ?? new Map<string, Set<string>>()
    found.set(name, labels)
    for (const [, label = '', value = ''] of inside.matchAll(/(\w+)="([^"]*)"/g)) {
      labels.set(label, (labels.get(label) ?? new Set()).add(value))
    }
  }
  return found
}
