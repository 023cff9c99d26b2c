import { liftBan, listBans, setBan } from '../operations/bans.ts'
import { explanationJson, explanationOf } from '../operations/explain.ts'
import { changeKey, disableKey, enableKey, revokeKey } from '../operations/keys/change.ts'
import { createKey } from '../operations/keys/create.ts'
import { findKey } from '../operations/keys/find.ts'
import { listKeys } from '../operations/keys/list.ts'
import { rotateKey } from '../operations/keys/rotate.ts'
import { showKey } from '../operations/keys/show.ts'
import { grantQuota, resetQuota } from '../operations/quota/changes.ts'
import { showQuota } from '../operations/quota/show.ts'
import type { ManyEdited } from '../operations/keys/many.ts'
import type { Answering } from '../operations/operation.ts'
import type { KeyDetails } from '../operations/quota-desk.ts'
import { forApp, TollgateError } from './ask.ts'
import { ask, askAbout, keyText, type ContextFor } from './ask.ts'
import type { BanOperations, KeyOperations, QuotaOperations, Tollgate } from './tollgate.ts'

/** The operations that an app has, each by the entry of the table that the command line and the admin API have, too. */
export function operationsOfApp(
  contextFor: ContextFor,
): Pick<Tollgate, 'keys' | 'quotas' | 'bans' | 'explain'> {
  return {
    keys: keyOperations(contextFor),
    quotas: quotaOperations(contextFor),
    bans: banOperations(contextFor),
    explain: (what: unknown) =>
      forApp(
        async () =>
          explanationJson(await explanationOf(contextFor('app'), { what: keyText(what) })),
        false,
      ),
  }
}

function keyOperations(contextFor: ContextFor): KeyOperations {
  const changed =
    (operation: Answering<KeyDetails | ManyEdited>) =>
    async (key: string, changes: object = {}): Promise<KeyDetails> => {
      const answer = await askAbout(operation, contextFor, key, changes)
      if ('standing' in answer) return answer
      throw new Error(`${operation.name} has changed many keys, and one was named`)
    }
  return {
    create: (settings) => ask(createKey, contextFor, settings),
    show: (key) => askAbout(showKey, contextFor, key),
    async find(token) {
      try {
        const found = await ask(findKey, contextFor, { token })
        return found && 'works' in found ? { ...found.key, works: found.works } : undefined
      } catch (error) {
        if (error instanceof TollgateError && error.code === 'not_found') return undefined
        throw error
      }
    },
    // Its type says which of both results a filter has.
    list: ((filter: object = {}) => ask(listKeys, contextFor, filter)) as KeyOperations['list'],
    change: changed(changeKey),
    rotate: (key, options) => askAbout(rotateKey, contextFor, key, options),
    disable: changed(disableKey),
    enable: changed(enableKey),
    revoke: changed(revokeKey),
  }
}

function quotaOperations(contextFor: ContextFor): QuotaOperations {
  return {
    show: (key) => askAbout(showQuota, contextFor, key),
    reset: (key, options) => askAbout(resetQuota, contextFor, key, options),
    grant: (key, grant) => askAbout(grantQuota, contextFor, key, grant),
  }
}

function banOperations(contextFor: ContextFor): BanOperations {
  return {
    list: () => ask(listBans, contextFor),
    set: (key, ban) => askAbout(setBan, contextFor, key, ban),
    lift: async (key, options) => {
      const { id } = await askAbout(liftBan, contextFor, key, options)
      return { id, lifted: true }
    },
  }
}
