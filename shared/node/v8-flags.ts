import { setFlagsFromString } from 'node:v8'

/** The major version of Node. */
export const [major = ''] = process.versions.node.split('.')

/**
 * The major versions of Node on which flags for speed were measured to pay; others run without them. On Node 24 they
 * don't: a forwarded request took 1.04 times as long with all of these flags, and a refusal as well.
 */
const speedMeasuredOn = new Set(['20'])

/**
 * Those on which the flag for memory was measured: by 300 reloads a busy gateway's peak grew by 3 MB with it and 49
 * without on Node 22, by 47 and 88 on Node 24, by 6 and 68 on Node 26.
 */
const memoryMeasuredOn = new Set(['20', '22', '24', '26'])

// While a process starts, V8 may take objects of the first requests for long-lived ones, and from then on allocate
// such objects in old space, which only full collections clean. 15 of 320 starts did so, and then needed 1.6 times
// the time for each request and 1.5 times the memory. With this flag none of 220 did.
const noPretenuring = '--no-allocation-site-pretenuring'

// A request goes through many small functions, so V8 may inline twice as much code as by default. A forwarded request
// takes 5 % less time (35.1 instead of 37.4 µs); bare http-proxy gains nothing.
const inlining = '--max-inlined-bytecode-size=1000'
const inliningInAll = '--max-inlined-bytecode-size-cumulative=2000'

// They concern code from its first run on, so a process imports this file before any other.
if (speedMeasuredOn.has(major)) {
  for (const flag of [noPretenuring, inlining, inliningInAll]) setFlagsFromString(flag)
}
// Loading modules would make the young generation grow to its full size, and V8 doesn't shrink it under load.
if (memoryMeasuredOn.has(major)) letYoungGenerationGrow(false)

/** Lets collections enlarge the young generation, or keeps its size. `young-generation.ts` decides. */
export function letYoungGenerationGrow(may: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${may ? 2 : 1}`)
}

/**
 * Lets the heap grow by 10 % of the live objects between collections; V8 would allow 150 %. With 100,000 callers a
 * gateway stays at 200 MB; with 30 % it took 218 MB, and half a microsecond less per request. With 10,000 callers
 * both are the same.
 *
 * Collections read it anew each time. It is set when all modules are loaded: set before, V8 sizes the heap by an
 * empty process, and a refusal takes 1.2 times as long ever after.
 */
export function keepLittleGarbage(): void {
  if (memoryMeasuredOn.has(major)) setFlagsFromString('--heap-growing-percent=10')
}
