import { FileFault, writtenText } from '../../config/replace-file.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'
import { requireSaving } from './savable.ts'

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
export function conflict(error: unknown): never {
  throw error instanceof FileFault ? new KeyMistake(error.message, 'conflict') : error
}
