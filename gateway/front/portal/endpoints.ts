import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import type { Config, OwnPaths } from '../config/config.ts'
import { keyPaths } from '../http/own-paths.ts'
import { quotaView } from '../stages/5-admit.ts'
import type { OwnOptions } from './own-options.ts'
import type { Answer } from '../request-record.ts'
import { pageAnswers } from './pages.ts'
import { rotation } from './rotation.ts'
import { usageAnswer } from './usage.ts'

/** The most bytes of a body that these endpoints take. */
const mostBytes = 1_024

/** The answers of the gateway's own endpoints; those of the pages by their paths. */
export type OwnAnswers = Readonly<{
  quota: Answer
  usage: Answer
  rotate: Answer
  pages: ReadonlyMap<string, Answer>
}>

/** An endpoint at which the gateway itself answers. */
export type OwnEndpoint = Readonly<{
  url: string
  methods: readonly string[]
  config: FastifyContextConfig
  handler: Answer
}>

/** All endpoints at which the gateway itself answers callers. None costs anything. */
export function ownEndpoints(
  { quotaPath, usagePath, portal }: Pick<Config, OwnPaths>,
  answers: OwnAnswers,
): OwnEndpoint[] {
  const ofCallers = (url: string | undefined, handler: Answer, ...methods: string[]) =>
    url === undefined
      ? []
      : [{ url, methods, config: { tollgate: 'quota', cost: 0, isOwn: true } as const, handler }]
  const pages = portal ? [...answers.pages] : []
  return [
    ...ofCallers(quotaPath, answers.quota, 'GET', 'HEAD'),
    ...ofCallers(usagePath, answers.usage, 'GET', 'HEAD'),
    ...ofCallers(portal?.canRotate ? keyPaths.rotate : undefined, answers.rotate, 'POST'),
    ...pages.map(([url, handler]) => ({
      url,
      methods: ['GET', 'HEAD'],
      // One label for all: the paths of files change with each version.
      config: { tollgate: 'open', cost: 0, label: portal?.path ?? '' } as const,
      handler,
    })),
  ]
}

export function ownAnswers(options: OwnOptions): OwnAnswers {
  const { config, prefix } = options
  return {
    quota: quotaView,
    usage: usageAnswer(options),
    rotate: rotation(options),
    pages: config.portal ? pageAnswers(config, config.portal, prefix) : new Map(),
  }
}

/** Takes short bodies as texts, whatever their type. */
export function takeShortTexts(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'string', bodyLimit: mostBytes } as const
  app.addContentTypeParser('*', options, (_request, text, done) => done(null, text))
}
