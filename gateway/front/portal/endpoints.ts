import { fileURLToPath } from 'node:url'
import { basename } from 'node:path'
import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import type { Config, OwnPaths, PortalSettings } from '../config/config.ts'
import { pageDocuments, resourcePath, ticketPath } from '../http/own-paths.ts'
import { PageFile, PageFolder, pageHeaders } from '../http/page-files.ts'
import { quotaView } from '../stages/6-admit.ts'
import type { OwnOptions } from './own-options.ts'
import type { Answer } from '../request-record.ts'
import { callersDocument } from './document.ts'
import { llmsText } from './llms.ts'
import { ticketAnswer } from './ticket.ts'
import { termsOf } from './terms.ts'
import { usageAnswer } from './usage.ts'

/** The most bytes of a body that these endpoints take. */
const mostBytes = 1_024

const folder = fileURLToPath(new URL('./page', import.meta.url))

/** The files of the page are the same for every configuration, so they are read, and packed, once. */
let files: PageFolder | undefined

/** An endpoint at which the gateway itself answers. */
export type OwnEndpoint = Readonly<{
  url: string
  methods: readonly string[]
  config: FastifyContextConfig
  handler: Answer
}>

/** All endpoints at which the gateway itself answers callers. None costs anything. */
export function ownEndpoints(
  { quotaPath, usagePath, tickets, portal }: Pick<Config, OwnPaths>,
  answers: OwnAnswers,
): OwnEndpoint[] {
  const ofCallers = (url: string | undefined, handler: Answer, ...methods: string[]) =>
    url === undefined
      ? []
      : [{ url, methods, config: { tollgate: 'quota', cost: 0, isOwn: true } as const, handler }]
  const pages = portal ? [...answers.pages] : []
  // One label for all pages: the paths of files change with each version.
  const label = portal?.path ?? ''
  const open = (url: string, handler: Answer, label: string): OwnEndpoint => ({
    ...{ url, methods: ['GET', 'HEAD'], handler },
    config: { tollgate: 'open', cost: 0, label },
  })
  return [
    ...ofCallers(quotaPath, answers.quota, 'GET', 'HEAD'),
    ...ofCallers(usagePath, answers.usage, 'GET', 'HEAD'),
    ...ofCallers(tickets ? ticketPath : undefined, answers.ticket, 'POST'),
    ...pages.map(([url, handler]) => open(url, handler, label)),
    ...(answers.resource ? [open(resourcePath, answers.resource, resourcePath)] : []),
  ]
}

export type OwnAnswers = ReturnType<typeof ownAnswers>

/**
 * The answers of the gateway's own endpoints; those of the pages by their paths. `resource` says whose tokens are taken; it is
 * `undefined` where there are only keys, and in an app.
 */
export function ownAnswers(options: OwnOptions, resource: Answer | undefined) {
  const { config, prefix } = options
  const quota: Answer = quotaView
  return {
    quota,
    usage: usageAnswer(options),
    ticket: ticketAnswer(options),
    pages: config.portal ? pageAnswers(config, config.portal, prefix) : new Map<string, Answer>(),
    resource,
  }
}

/** The pages for callers and their files, by path. `prefix` is the path at which an app has the gateway. */
function pageAnswers(
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
  const made = (name: string, text: () => string): void =>
    add(`${path}/${name}`, new PageFile(name, () => Promise.resolve(Buffer.from(text()))))
  const openapi = (): string => callersDocument(config, portal, prefix)
  made(pageDocuments.openapi, openapi)
  made(pageDocuments.terms, () => JSON.stringify(termsOf(config, portal)))
  made(pageDocuments.llms, () => llmsText(config, portal, prefix, openapi()))
  for (const [name, file] of files.files) add(`${path}/${name}`, file)
  return answers
}

/** Takes short bodies as texts, whatever their type. */
export function takeShortTexts(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'string', bodyLimit: mostBytes } as const
  app.addContentTypeParser('*', options, (_request, text, done) => done(null, text))
}
