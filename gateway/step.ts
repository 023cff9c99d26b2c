/** Experimental until 1.1: what a store of an app's own needs beside its database. */
export { quotasOn, step, type QuotaRow, type QuotaTable } from './front/stores/own/quotas.ts'
export { fits, lineOf, type LineFilter } from './front/keys/line.ts'
export { pageBy, type KeyIndex, type Walked } from './front/stores/key-index.ts'
// What the methods of keys and quotas take and give, beside what the package exports already.
export type { KeyPage, Keys, PageQuery } from './front/keys/store.ts'
export type { Adjustment, Counters } from './front/limits/counters.ts'
export type { Grant, NewGrant } from './front/limits/grants.ts'
export type { QuotaPoints } from './front/limits/past-points.ts'
export type { TakenPlaces } from './front/limits/places.ts'
export type { Admission } from './front/limits/quota-state.ts'
export type { Adjusted, PlaceReport } from './front/limits/store.ts'
export type { NewTopUp, TopUp, TopUpOutcome } from './front/limits/top-ups.ts'
