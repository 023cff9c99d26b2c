/** A panel of a dashboard, as far as tests look at it. */
export type Panel = Readonly<{
  id: number
  type: string
  title: string
  description?: string
  gridPos: Readonly<{ x: number; y: number; w: number; h: number }>
  targets: readonly Readonly<{ expr: string; legendFormat: string }>[]
}>

/** The panels of a dashboard without its rows. */
export function panelsOf(dashboard: string): Panel[] {
  const { panels } = JSON.parse(dashboard) as { panels: Panel[] }
  return panels.filter(({ type }) => type !== 'row')
}

const text = { type: 'string', minLength: 1 } as const
const datasource = object({
  type: { const: 'prometheus' },
  // A variable: the id of somebody's own data source would be unknown elsewhere.
  uid: { const: '${datasource}' },
})
const target = object(
  {
    refId: { type: 'string', pattern: '^[A-Z]$' },
    datasource,
    expr: text,
    legendFormat: { type: 'string' },
  },
  {
    instant: { type: 'boolean' },
    range: { type: 'boolean' },
    format: { enum: ['table', 'time_series'] },
  },
)
const steps = {
  type: 'array',
  minItems: 1,
  items: object({ color: text, value: { type: ['number', 'null'] } }),
}
const valueMapping = object({
  type: { const: 'value' },
  options: { type: 'object', additionalProperties: object({ text, index: { type: 'integer' } }) },
})
const stacking = object({ mode: { enum: ['none', 'normal', 'percent'] }, group: text })
const custom = object({
  drawStyle: { enum: ['line', 'bars', 'points'] },
  lineInterpolation: { enum: ['linear', 'smooth', 'stepBefore', 'stepAfter'] },
  lineWidth: { type: 'integer' },
  fillOpacity: { type: 'integer', maximum: 100 },
  showPoints: { enum: ['auto', 'never', 'always'] },
  spanNulls: { type: 'boolean' },
  stacking,
})
const defaults = object(
  { unit: { enum: ['none', 's', 'reqps', 'percentunit'] } },
  {
    color: object({ mode: { enum: ['thresholds', 'palette-classic'] } }),
    thresholds: object({ mode: { const: 'absolute' }, steps }),
    mappings: { type: 'array', items: valueMapping },
    ...{ min: { type: 'number' }, max: { type: 'number' }, decimals: { type: 'integer' }, custom },
  },
)
const place = { type: 'integer', minimum: 0 }
const gridPos = object({ x: place, y: place, w: place, h: place })
const id = { type: 'integer', minimum: 1 }
const row = object({
  ...{ id, gridPos, title: text, type: { const: 'row' } },
  ...{ collapsed: { const: false }, panels: { type: 'array', maxItems: 0 } },
})
const panel = object(
  {
    ...{ id, gridPos, datasource, title: text, description: { type: 'string', minLength: 20 } },
    type: { enum: ['stat', 'timeseries', 'table'] },
    fieldConfig: object({ defaults, overrides: { type: 'array' } }),
    options: { type: 'object' },
    targets: { type: 'array', minItems: 1, items: target },
  },
  { transformations: { type: 'array', items: object({ id: text, options: { type: 'object' } }) } },
)
const variable = object(
  {
    ...{
      name: text,
      label: text,
      type: { enum: ['datasource', 'query'] },
      refresh: place,
      hide: place,
    },
    query: { anyOf: [text, object({ query: text, refId: text })] },
    options: { type: 'array', maxItems: 0 },
    ...{
      multi: { type: 'boolean' },
      includeAll: { type: 'boolean' },
      skipUrlSync: { type: 'boolean' },
    },
  },
  { datasource, regex: { type: 'string' }, sort: place, allValue: text },
)

/** The part of Grafana's schema of dashboards (`@grafana/schema`, 13.2) that ours uses, without the ids of one Grafana. */
export const dashboardSchema = object({
  ...{ uid: text, title: text, description: text, timezone: { enum: ['utc', 'browser'] } },
  tags: { type: 'array', items: text },
  ...{ schemaVersion: { const: 39 }, version: { const: 1 }, editable: { type: 'boolean' } },
  ...{ graphTooltip: { enum: [0, 1, 2] }, refresh: text, time: object({ from: text, to: text }) },
  ...{ timepicker: object({}), fiscalYearStartMonth: place, weekStart: { type: 'string' } },
  links: { type: 'array', maxItems: 0 },
  annotations: object({ list: { type: 'array', maxItems: 0 } }),
  templating: object({ list: { type: 'array', items: variable } }),
  panels: { type: 'array', items: { anyOf: [row, panel] } },
})

/** A schema of an object with these members and, if it likes, some more, and nothing else. */
function object(members: object, more: object = {}): object {
  return {
    type: 'object',
    required: Object.keys(members),
    properties: { ...members, ...more },
    additionalProperties: false,
  }
}
