import { inPieces } from '../../../../shared/pieces.ts'
import { editedText, mostSettings, type Settings } from '../../config/edit/edit.ts'
import { EditMistake } from '../../config/edit/mistake.ts'
import { WrongInput } from '../operation.ts'

/** A file's text with other settings; what can't be changed in it is a mistake in the arguments. */
export async function edited(text: string, settings: Settings): Promise<string> {
  const count = Object.keys(settings).length
  if (count > mostSettings) {
    throw new WrongInput(`at most ${mostSettings} settings can be changed at once, got ${count}`)
  }
  try {
    return await inPieces(editedText(text, settings))
  } catch (error) {
    throw error instanceof EditMistake ? new WrongInput(error.message) : error
  }
}
