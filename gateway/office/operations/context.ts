import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../../front/config/config.ts'
import type { Examined } from '../config/desk.ts'
import type { Preview } from '../config/preview.ts'
import type { FoundRefusals } from '../explain/refusals-of.ts'
import type { Reloader } from '../config/reload.ts'
import type { OperatedGateway } from '../office.ts'
import type { Issuers } from '../../front/jwt/issuers.ts'
import type { Stores } from '../../front/stores/stores.ts'
import type { Desks } from './desks.ts'
import type { Content } from './parameter.ts'
import type { Role } from '../../../shared/role.ts'

/** A method and a path of the admin API. */
export type Endpoint = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /admin/${string}`

/** The body of a request to the running gateway, and its headers. */
export type Sent = Readonly<{ body?: string; headers: Readonly<Record<string, string>> }>

/** Everything that an operation works on, in a gateway or in a command. */
export type Context = Readonly<{
  config: Config
  /** The stores; a command opens them at the first call. */
  stores: () => Stores
  /** The changes of keys, bans and quotas, by the author of this call. */
  desks: () => Desks
  /** The secret of the gateway's signature, if it signs. */
  secret: string | undefined
  /** Asks the running gateway for what it can sign and this command can't; `undefined` elsewhere. */
  askSigner?: ((endpoint: Endpoint, sent: Sent) => Promise<unknown>) | undefined
  clock: Clock
  /** The issuers of JWTs in force, with their keys; absent in a command. */
  issuers?: Pick<Issuers, 'find'>
  /** Whether a JWT that doesn't verify has no holder: an app may take the holder for the sender. */
  requiresVerified?: boolean
  /** The holder of the token that asks a gateway; absent in a command, which may do what its user may. */
  operator?: Readonly<{ name: string; role: Role }>
  /** Checks a configuration. A command throws mistakes, a gateway returns them. */
  examine: (file: Content) => Promise<Examined>
  /** The configuration in force in a running gateway, in its shown form, and its text; `undefined` in a command. */
  inForce: (() => Promise<InForce>) | undefined
  /** Asks all gateways for the refused and failed answers with an id. */
  refusalsOf: (id: string) => Promise<FoundRefusals>
  /** Writes the counts that are still in this process's memory to the store. */
  flush: () => Promise<void>
  /** Shows the progress of something long on a terminal; elsewhere it does nothing. */
  progress: (label: string, total: number | undefined) => (done: number) => void
}>

/** The configuration in force in a running gateway. */
export type InForce = Pick<Preview, 'shown'> & Readonly<{ file: string; text: string }>

/** The context of a command. */
export type CommandContext = Context &
  Readonly<{
    /** The configuration in its shown form, with its warnings and the texts of its settings. */
    preview: Preview
    /** The name of the configuration's file, or `standard input`. */
    configFile: string
    /** Asks the running gateway; resolves to its JSON. Errors end with `otherwise`, the advice if none answers. */
    askGateway: (endpoint: Endpoint, otherwise?: string, sent?: Sent) => Promise<unknown>
    /** Whether a variable of the environment is set. */
    hasVariable: (name: string) => boolean
    /** The author of changes, for the audit. */
    by: string
  }>

/** The context in a gateway, for the holder of a token: `by` is the author of changes. */
export type GatewayContext = Context &
  Readonly<{
    gateway: OperatedGateway
    reloader: Reloader
    by: string
  }>
