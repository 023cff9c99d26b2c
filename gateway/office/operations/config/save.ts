import { withMore } from '../../../../shared/and-more.ts'
import { ConfigError } from '../../config/config-error.ts'
import { replaceFile, writtenText, FileFault } from '../../config/replace-file.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import type { GatewayContext } from '../context.ts'
import { entityTag } from '../kinds.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'
import { configTypes, valueOf } from '../parameters.ts'
import { inForce, mistakesIn, stateText } from './running.ts'
import { requireSaving, saveFault } from './savable.ts'

export const saveConfig = ofGateway({
  name: 'config save',
  at: ['PUT /admin/config/file'],
  summary: 'Save a text as the running gateway’s file, and put it in force; needs admin.save',
  details:
    'The text is checked first; with a mistake, or a change that needs a restart, nothing is written. --over is the ' +
    'hash of the file that it was made from, as config running tells it: a file that has changed since stays.',
  parameters: {
    file: { types: configTypes },
    over: {
      ...valueOf(entityTag, 'HASH', 'the hash of the file that it replaces'),
      isRequired: true,
      header: 'if-match',
    },
  },
  changes: true,
  role: 'all',
  run: async (context, { file, over }) => {
    const { reloader, by } = context
    await requireSaving(context)
    if (over === undefined) {
      throw new KeyMistake(
        'send If-Match with the ETag of the file that this text was made from',
        'precondition_required',
      )
    }
    const text = file.read()
    const result = await reloader.reload(by, () => write(context, text, over))
    if (result !== 'refused') return inForce(reloader, { result })
    const mistakes = mistakesIn(reloader.state)
    throw new KeyMistake(
      `the file is saved but refused, and the configuration before stays in force: ${mistakes}`,
      'conflict',
    )
  },
  text: ({ result, ...inForce }) =>
    `${result === 'changed' ? 'The file is saved, and in force now.' : 'The file was like that already.'}\n${stateText(inForce)}`,
})

export type SavedConfig = AnswerOf<typeof saveConfig>

/** Writes a text over the file unless anything speaks against it. */
async function write(context: GatewayContext, text: string, over: string): Promise<void> {
  const { reloader } = context
  const { file } = reloader.state
  const before = await unchangedText(file, over)
  await requireGood(context, text)
  const lost = await reloader.desk('lostVariables', before, text)
  if (lost.length > 0) {
    const names = lost.map((name) => `\${${name}}`).join(' and ')
    throw new KeyMistake(`${names} would be lost: keep it, or take it out by hand`, 'conflict')
  }
  const fault = await saveFault(context)
  if (fault !== undefined) throw new KeyMistake(fault, 'conflict')
  if (text === before) return
  // Requests went on during the checks, and so may others who write the file.
  await unchangedText(file, over)
  await replaceFile(file, text).catch(conflict)
}

/** The file's text; throws if it isn't the version with this hash any more. */
async function unchangedText(file: string, hash: string): Promise<string> {
  const now = await writtenText(file).catch(conflict)
  if (now.hash === hash) return now.text
  throw new KeyMistake(
    `${file} has changed since (it is ${now.hash} now): read it again`,
    'precondition_failed',
  )
}

/** Throws what a reload would refuse, with every mistake. */
async function requireGood({ reloader }: GatewayContext, text: string): Promise<void> {
  try {
    await reloader.requireChangeable(await reloader.desk('check', text))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const why = withMore(error.mistakes, error.more).join('; ') || error.message
    throw new KeyMistake(`nothing was saved: ${why}`)
  }
}

export const configFileText = ofGateway({
  name: 'config file',
  at: ['GET /admin/config/file'],
  summary: 'Print the running gateway’s file as it is now; needs admin.save',
  details: 'Its hash is what config save needs as --over. The text may hold secrets.',
  parameters: {},
  role: 'all',
  run: async (context) => {
    await requireSaving(context)
    const { file } = context.reloader.state
    return { file, ...(await writtenText(file).catch(conflict)) }
  },
  file: ({ text, hash }) => ({ type: 'application/yaml; charset=utf-8', text, tag: `"${hash}"` }),
  text: ({ text }) => text.replace(/\r?\n$/, ''),
})

export type ConfigText = AnswerOf<typeof configFileText>

/** Tells of a file that can't be read or written. */
function conflict(error: unknown): never {
  throw error instanceof FileFault ? new KeyMistake(error.message, 'conflict') : error
}
