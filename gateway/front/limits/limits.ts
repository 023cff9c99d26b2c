/** The most points in each window; `Infinity` where a window has no limit. */
export type Limits = Readonly<{ perMinute: number; perDay: number }>

/** Admits everything, and counts it. */
export const noLimits: Limits = { perMinute: Infinity, perDay: Infinity }
