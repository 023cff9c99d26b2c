import { progressBar, type Screen } from '../../../shared/progress.ts'
import { withSecrets } from '../../../shared/secret-files.ts'
import { portOf } from '../../../shared/units.ts'
import type { AdminAddress } from '../../front/config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { refusalsOf, type FoundRefusals } from '../explain/refusals-of.ts'
import { storedRefusals } from '../explain/stored-refusals.ts'
import { RowMistakes } from '../../front/keys/row-mistakes.ts'
import { isLine } from '../../front/keys/settings.ts'
import { operations } from '../operations/all.ts'
import type { RunningConfig } from '../operations/config/running.ts'
import type { CommandContext, Endpoint } from '../operations/context.ts'
import { desksFor } from '../operations/desks.ts'
import { WrongInput, type Said } from '../operations/operation.ts'
import { openerOf } from '../../front/stores/open.ts'
import type { Stores } from '../../front/stores/stores.ts'
import { calledBy, inputOf, type Called, type Input } from './arguments.ts'
import { carryOut } from './carry-out.ts'
import { configurationFor, loadedBy } from './configuration-for.ts'
import { givenFrom, textOf } from './given.ts'
import { explain } from './help.ts'
import { explainAll } from './no-command.ts'
import { NoAnswer } from './no-answer.ts'
import { jsonText, remark, sentenceOf } from './output.ts'
import type { Asked, To } from './running-gateway.ts'
import type { Surroundings, Warn } from './surroundings.ts'

/** Runs one command and prints its answer or its mistakes; returns the exit code. */
export async function run(words: string[], surroundings: Surroundings): Promise<number> {
  const { stdout, stderr } = surroundings
  const warn = (sentence: string): void => void stderr.write(remark(sentence))
  try {
    const called = calledBy(words, operations)
    if (called) return await runCommand(called, { ...surroundings, warn })
    const { text, isAsked } = explainAll(words)
    if (isAsked) stdout.write(text)
    else warn(text)
    return isAsked ? 0 : 2
  } catch (error) {
    if (error instanceof RowMistakes) {
      warn(`${error.lines}\nnothing was added`)
      return 2
    }
    // Editors and other programs expect `file:line:column` at the beginning of a line.
    const isPlaced = error instanceof ConfigError && error.mistakes.length > 0
    stderr.write(remark(sentenceOf(error), isPlaced ? '' : 'tollgate: '))
    return error instanceof WrongInput || error instanceof ConfigError ? 2 : 1
  }
}

async function runCommand(
  { operation, rest }: Called,
  surroundings: Surroundings & Warn,
): Promise<number> {
  const { environment, stdout } = surroundings
  const input = inputOf(operation, rest)
  if (input.values['help']) {
    stdout.write(explain(operation))
    return 0
  }
  if (operation.where === 'terminal') {
    const values = givenFrom(operation, input, nothing)
    const agree = async (plan: string, isAgreed: boolean): Promise<void> => {
      if (isAgreed) surroundings.warn(plan)
      else if (!(await surroundings.confirm(plan)))
        throw new WrongInput(`${plan} Confirm with --yes; nothing was sent`)
    }
    const proveKey = environment['TOLLGATE_PROVE_KEY']
    return tellOf(await operation.say(values, { agree, proveKey }), input, stdout)
  }
  const configuration = await configurationFor(operation, input, surroundings)
  const values = givenFrom(operation, input, configuration)
  const secretOf = (name: string) => withSecrets(name, environment[name]).text || undefined
  const toOf = ({ port, ...admin }: AdminAddress): To => ({
    address: { ...admin, port: adminPortIn(environment) ?? port },
    adminToken: secretOf('ADMIN_TOKEN'),
  })
  const askOf = async (address: AdminAddress, endpoint: Endpoint, asked: Asked) => {
    const { askGateway } = await import('./running-gateway.ts')
    return askGateway(toOf(address), endpoint, asked)
  }
  const askRunning = async (address: AdminAddress) =>
    (await askOf(address, 'GET /admin/config', {})) as RunningConfig
  const found = await loadedBy(operation, configuration, { environment, values, askRunning })
  if ('json' in found) return tellOf(found, input, stdout)
  const { loaded, line, hasStore } = 'loaded' in found ? found : { loaded: found, hasStore: true }
  if (line !== undefined) surroundings.stderr.write(remark(line, ''))
  const { config } = loaded
  const open = await openerOf(config.store)
  let opened: Stores | undefined
  const stores = (): Stores => {
    if (!hasStore) throw new ConfigError(withoutStore)
    return (opened ??= open({ forCommandLine: true }))
  }
  const by = authorFrom(input, surroundings)
  const askGateway: CommandContext['askGateway'] = (endpoint, otherwise, sent) =>
    askOf(config.admin, endpoint, { otherwise, sent })
  const context: CommandContext = {
    config,
    preview: loaded,
    configFile: configuration.name,
    stores,
    desks: () => desksFor({ ...config, stores: stores(), clock: Date.now, by }),
    // Few commands need it, and its file may be the gateway's own.
    get secret() {
      return secretOf('GATEWAY_SECRET')
    },
    askGateway,
    askSigner:
      environment['GATEWAY_SECRET'] || !environment['ADMIN_TOKEN']
        ? undefined
        : (endpoint, sent) => askGateway(endpoint, withoutToken, sent),
    hasVariable: (variable) => Boolean(environment[variable]),
    by,
    clock: Date.now,
    examine: async (file) => {
      const { loadedFrom } = await import('../config/load.ts')
      const text = file.read()
      const preview = text === loaded.text ? loaded : loadedFrom(text, environment, file.name)
      return { preview, mistakes: [] }
    },
    inForce: undefined,
    refusalsOf: (id) => refusalsFor(context, id),
    flush: () => Promise.resolve(),
    progress: (label, total) => progressBar(surroundings.stderr, label, total),
  }
  try {
    return await carryOut(operation, { values, input, context, surroundings })
  } finally {
    await opened?.close()
  }
}

/**
 * The refusals with an id, for a command: it asks the gateways of a Redis there, and the one of a file at its admin
 * address. If that one has stopped, the file has its refusals.
 */
async function refusalsFor(context: CommandContext, id: string): Promise<FoundRefusals> {
  const { config, stores, askGateway } = context
  if (config.store.redis) {
    const { members, silent } = await stores().fleet.list()
    return fromStores(context, members.length + silent, id)
  }
  try {
    return (await askGateway(`GET /admin/requests/${encodeURIComponent(id)}`)) as FoundRefusals
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    const stored = await fromStores(context, 1, id)
    if (stored.answers.length === 0) throw error
    return stored
  }
}

function fromStores(
  { stores, clock }: CommandContext,
  expected: number,
  id: string,
): Promise<FoundRefusals> {
  const { questions, refusals } = stores()
  return refusalsOf(id, {
    questions,
    expected,
    readStored: (asked) => storedRefusals(refusals, { ...asked, nowMs: clock() }),
  })
}

/** Prints what a command says that works with no configuration. */
function tellOf({ json, text, error, isRefused }: Said, { values }: Input, stdout: Screen): number {
  const output = values['json'] ? jsonText(json) : text
  if (output === undefined) throw error ?? new Error('a command has nothing to say')
  stdout.write(`${output}\n`)
  return error ? 2 : Number(isRefused ?? false)
}

/** A command of the terminal has no configuration. */
const nothing = { name: '', read: () => '' }

const withoutStore =
  'this command needs the store, and its place can’t be read here: correct the file, or set its variables'

const withoutToken = 'Without ADMIN_TOKEN, the command asks both backends by itself.'

/** The port of the running gateway for operators, where it isn't that of the file. */
function adminPortIn(environment: Surroundings['environment']): number | undefined {
  try {
    return portOf(['ADMIN_PORT', environment['ADMIN_PORT']])
  } catch (error) {
    throw new WrongInput(sentenceOf(error))
  }
}

/** The author of changes, for the audit. */
function authorFrom(input: Input, { environment, userName }: Surroundings): string {
  const author = textOf(input, 'by')
  const by = author ?? (environment['TOLLGATE_BY'] || userName())
  if (isLine(by)) return by
  const which = author === undefined ? 'TOLLGATE_BY' : '--by'
  throw new WrongInput(`${which} must be a line of 1 to 255 characters, none of them invisible`)
}
