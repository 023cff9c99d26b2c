import type { Test } from 'tap'
import { keysContract, type TwoKeys } from '../../gateway/contracts/keys.ts'

export { newKey, pagesOf } from '../../gateway/contracts/keys.ts'

/** The contract of `KeyStore`. Each adapter runs it. */
export function keyStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<TwoKeys>,
): Promise<unknown> {
  return t.test(`a key store: ${name}`, async (t) => {
    const test = (name: string, run: () => Promise<void>) => t.test(name, run)
    keysContract({ test, open: () => open(t) })
  })
}
