import { withSecrets } from '../shared/secret-files.ts'
import { secretFault } from '../shared/signature.ts'
import { adminTokensFrom, type AdminTokens } from './office/admin/token.ts'
import { ConfigError } from './office/config/config-error.ts'
import type { Environment } from './office/config/variables.ts'

type Present = Readonly<{ secret: string | undefined; adminToken: string; tokens: AdminTokens }>

/** The secrets that a process has from its environment, `GATEWAY_SECRET` and `ADMIN_TOKEN`, which may take them from files. */
export class ProcessSecrets {
  readonly #environment: Environment
  /** The files, which stay the same: a process keeps its environment. */
  readonly files: readonly string[]
  #present: Present

  /** Throws a sentence if one of them is no good. */
  constructor(environment: Environment) {
    this.#environment = environment
    const { files, ...present } = read(environment)
    this.files = files
    this.#present = present
  }

  /** The secret of the gateway's signature, if it signs. */
  get secret(): string | undefined {
    return this.#present.secret
  }

  /** The tokens of operators. */
  get tokens(): AdminTokens {
    return this.#present.tokens
  }

  /** Reads the files again. Puts other secrets in force, and gives what undoes that; throws a `ConfigError`, and nothing changes. */
  renew(): (() => void) | undefined {
    const before = this.#present
    const present = readAgain(this.#environment)
    const isSame = present.secret === before.secret && present.adminToken === before.adminToken
    if (isSame) return undefined
    this.#present = present
    return () => (this.#present = before)
  }
}

/** As a reload tells it: one of them that is no good is a mistake. */
function readAgain(environment: Environment): Present {
  try {
    return read(environment)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    throw ConfigError.of([error.message], { cause: error })
  }
}

function read({ GATEWAY_SECRET, ADMIN_TOKEN }: Environment) {
  const shared = withSecrets('GATEWAY_SECRET', GATEWAY_SECRET)
  const ofAdmin = withSecrets('ADMIN_TOKEN', ADMIN_TOKEN)
  const fault = secretFault(shared.text)
  if (fault) throw new Error(fault)
  return {
    files: [...shared.files, ...ofAdmin.files],
    secret: shared.text || undefined,
    adminToken: ofAdmin.text,
    tokens: adminTokensFrom(ofAdmin.text),
  }
}
