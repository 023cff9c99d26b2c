import { mistake, type Checked, type Remark } from './remarks.ts'

const setting = ['portal', 'openapi'] as const

/** Mistakes of the OpenAPI document, each with its line and column in that document. */
export function* portalRemarks({ file, quote, files }: Checked): Generator<Remark> {
  const path = file.portal?.openapi
  if (path === undefined || !files) return
  const written = quote(setting)
  // A variable's value isn't shown; a long name is, because its end is needed.
  const name = written.includes('${') ? written : path
  for (const { at, sentence } of files.openapi(path).faults) {
    const position = at === undefined ? name : `${name}:${at}`
    yield mistake(setting, `can't be shown: ${position}: ${sentence}`)
  }
}
