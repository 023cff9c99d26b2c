import { fileURLToPath } from 'node:url'
import { basename } from 'node:path'
import type { Config, PortalSettings } from '../config/config.ts'
import { pageDocuments } from '../http/own-paths.ts'
import { PageFile, PageFolder, pageHeaders } from '../http/page-files.ts'
import type { Answer } from '../request-record.ts'
import { keyHeaderOf, termsOf } from './terms.ts'

const folder = fileURLToPath(new URL('./page', import.meta.url))

/** The files are the same for every configuration, so they are read, and packed, once. */
let files: PageFolder | undefined

/** The pages for callers and their files, by path. */
export function pageAnswers(config: Config, portal: PortalSettings): ReadonlyMap<string, Answer> {
  files ??= new PageFolder(folder)
  const { path, document } = portal
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
  const json = (name: string, text: string): void =>
    add(`${path}/${name}`, new PageFile(name, Buffer.from(text)))
  json(pageDocuments.openapi, documentFor(document, keyHeaderOf(config)))
  json(pageDocuments.terms, JSON.stringify(termsOf(config, portal)))
  for (const [name, file] of files.files) add(`${path}/${name}`, file)
  return answers
}

/** A document whose bearer tokens come in the header in which callers are told to send their keys. */
function documentFor(document: string, { name, before }: ReturnType<typeof keyHeaderOf>): string {
  if (before !== '') return document
  return JSON.stringify(JSON.parse(document), (_key, value: unknown) =>
    isBearer(value)
      ? { type: 'apiKey', in: 'header', name, description: value.description }
      : value,
  )
}

function isBearer(value: unknown): value is Readonly<{ description?: string }> {
  if (typeof value !== 'object' || value === null) return false
  const { type, scheme } = value as Readonly<Record<string, unknown>>
  return type === 'http' && typeof scheme === 'string' && scheme.toLowerCase() === 'bearer'
}
