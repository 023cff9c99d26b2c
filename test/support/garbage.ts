import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Frees the memory that nothing refers to, now. */
export const collectGarbage = runInNewContext('gc') as () => void
