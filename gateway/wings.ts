import type { SecretSource } from '../shared/signature.ts'
import { openFront, type FrontOptions } from './front/front.ts'
import { checkFor } from './office/probe/probe.ts'
import { openOffice, type OfficeOptions } from './office/office.ts'

export type WingsOptions = Omit<FrontOptions, 'checkSwap'> &
  OfficeOptions &
  Readonly<{
    /** The secret of the gateway's signature, if it signs. */
    secret?: SecretSource
  }>

/** The parts of a gateway: what its callers touch, and what its operators use. */
export type Wings = Readonly<Awaited<ReturnType<typeof openWings>>>

/** Opens both wings. They meet here, in the process and in the plugin. */
export async function openWings(options: WingsOptions) {
  const front = await openFront({ ...options, checkSwap: checkFor(options.secret) })
  const office = openOffice(front, options)
  return {
    front,
    office,
    /** Closes both, after the last request. */
    close: async (): Promise<void> => {
      await office.close()
      await front.close()
    },
  }
}
