import { fileURLToPath } from 'node:url'
import { basename } from 'node:path'
import type { Config, PortalSettings } from '../config/config.ts'
import { pageDocuments } from '../http/own-paths.ts'
import { PageFile, PageFolder, pageHeaders } from '../http/page-files.ts'
import type { Answer } from '../request-record.ts'
import { callersDocument } from './document.ts'
import { termsOf } from './terms.ts'

const folder = fileURLToPath(new URL('./page', import.meta.url))

/** The files are the same for every configuration, so they are read, and packed, once. */
let files: PageFolder | undefined

/** The pages for callers and their files, by path. `prefix` is the path at which an app has the gateway. */
export function pageAnswers(
  config: Config,
  portal: PortalSettings,
  prefix: string,
): ReadonlyMap<string, Answer> {
  files ??= new PageFolder(folder)
  const { path } = portal
  const answers = new Map<string, Answer>()
  const add = (at: string, file: PageFile): void =>
    void answers.set(at, (request, reply) => {
      void reply.headers(pageHeaders)
      return file.answer(request, reply)
    })
  const page = files.page('index.html', `${basename(path)}/`)
  if (page) add(path, page)
  // Relative, so that it leads back to the page below any prefix that a proxy or an app has put before it.
  answers.set(`${path}/`, (_request, reply) => reply.redirect(`../${basename(path)}`, 308))
  // Made once, when it is asked for: a reload waits for no large document.
  const json = (name: string, text: () => string): void =>
    add(`${path}/${name}`, new PageFile(name, () => Promise.resolve(Buffer.from(text()))))
  json(pageDocuments.openapi, () => callersDocument(config, portal, prefix))
  json(pageDocuments.terms, () => JSON.stringify(termsOf(config, portal)))
  for (const [name, file] of files.files) add(`${path}/${name}`, file)
  return answers
}
