import { editedText, mostSettings, type Settings } from '../../config/edit/edit.ts'
import { EditMistake } from '../../config/edit/mistake.ts'
import { WrongInput } from '../operation.ts'

/** A file's text with other settings; what can't be changed in it is a mistake in the arguments. */
export function edited(text: string, settings: Settings): string {
  requireFew(settings)
  try {
    return editedText(text, settings)
  } catch (error) {
    return asWrongInput(error)
  }
}

export function requireFew(settings: Settings): void {
  const count = Object.keys(settings).length
  if (count <= mostSettings) return
  throw new WrongInput(`at most ${mostSettings} settings can be changed at once, got ${count}`)
}

/** Throws what came of an edit: a mistake in the file's setting is one in the arguments. */
export function asWrongInput(error: unknown): never {
  throw error instanceof EditMistake ? new WrongInput(error.message) : error
}
