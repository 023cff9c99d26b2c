import { setFlagsFromString } from 'node:v8'

/** The major version of Node. */
export const [major = ''] = process.versions.node.split('.')

/**
 * The major versions of Node on which the flags were measured: by 300 reloads a busy gateway's peak grew by 3 MB with
 * `--heap-growing-percent` and 49 without on Node 22, by 47 and 88 on Node 24, by 6 and 68 on Node 26.
 */
const memoryMeasuredOn = new Set(['22', '24', '26'])

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
 * empty process, and a refusal takes 1.2 times as long ever after. Besides, V8 takes no code that was kept by a process with
 * other flags: loading all of it anew, and keeping it again at the end, would take a third of a second of processor.
 */
export function keepLittleGarbage(): void {
  if (memoryMeasuredOn.has(major)) setFlagsFromString('--heap-growing-percent=10')
}
