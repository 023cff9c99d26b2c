import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../../shared/clock.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { Type } from '../../../shared/schema.ts'
import { PageFile, PageFolder, pageHeaders } from '../../front/http/page-files.ts'
import type { OperatedGateway } from '../office.ts'
import { jsonTypes, takeTexts } from './body.ts'
import {
  sessionFinder,
  privately,
  type RequestSession,
  type SessionFinderOptions,
} from './session-finder.ts'
import { readSecret } from './given.ts'
import { pageScreen } from './hosts.ts'
import { requireKnownQueries } from './query.ts'
import { closed, missing } from './refusals.ts'
import type { FindNamed } from './named-operator.ts'
import { longestMs, sessionView, type Sessions } from './session.ts'
import { SignIns } from './sign-in.ts'
import type { AdminSecrets } from './token.ts'
import { originFault, setCookie, browserOriginOf } from './browser-origin.ts'

const folder = fileURLToPath(new URL('./console', import.meta.url))

/** The files are the same for every gateway, so they are read, and packed, once. */
let pages: PageFolder | undefined

/** The page of a gateway with tokens, and of one without. */
const usualPage = 'index.html'
const closedPage = 'no-token.html'

export type ConsoleOptions = Readonly<{
  gateway: OperatedGateway
  secrets: AdminSecrets
  /** Finds the operator whom a trusted proxy names. */
  namedBy: FindNamed
  sessions: Sessions
  clock: Clock
}>

/** Adds the console: its page, its files and its session. */
export function addConsole(app: FastifyInstance, options: ConsoleOptions): void {
  const { gateway } = options
  const hostFault = pageScreen(gateway.config.admin)
  void app.register((inner, _options, done) => {
    // In this scope and not by the path as it came: the router also finds a path with needless escapes.
    inner.addHook('onRequest', ({ raw }, _reply, done) => done(hostFault(raw)))
    void inner.register((page, _options, done) => {
      page.addHook('onRequest', (_request, reply, done) => {
        void reply.headers(pageHeaders)
        done()
      })
      page.get('/console', (_request, reply) => reply.redirect('/console/', 308))
      addFiles(page, options)
      done()
    })
    void inner.register((session, _options, done) => {
      addSession(session, options)
      done()
    })
    done()
  })
}

/** Adds a route for each file, so that no path can lead to another. */
function addFiles(app: FastifyInstance, { gateway, secrets, namedBy }: ConsoleOptions): void {
  pages ??= new PageFolder(folder)
  const [usual, closed] = [pages.page(usualPage), pages.page(closedPage)]
  if (!usual || !closed) return
  // It asks for no token.
  const named = new PageFile(usualPage, async () =>
    Buffer.from((await usual.bytes()).toString().replace('<body>', '<body data-named>')),
  )
  const pageFor = ({ raw }: FastifyRequest): PageFile =>
    namedBy(raw) ? named : secrets.tokens.length > 0 || gateway.config.admin.trust ? usual : closed
  app.get('/console/', (request, reply) => pageFor(request).answer(request, reply))
  for (const [path, file] of pages.files) {
    app.get(`/console/${path}`, (request, reply) => file.answer(request, reply))
  }
}

const signInBody = Type.Object(
  { token: Type.String() },
  { additionalProperties: false, expected: 'an object with "token"' },
)

function addSession(app: FastifyInstance, options: ConsoleOptions): void {
  const { gateway, secrets, namedBy, sessions, clock } = options
  const url = '/console/session'
  const config: SessionFinderOptions['config'] = () => gateway.config
  const entryOf = sessionFinder({ sessions, config, clock })
  const { audit, strangers } = gateway.front.stores
  const signIns = new SignIns({ secrets, sessions, audit, log: app.log, clock, strangers })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    void reply.headers(privately)
    if (secrets.tokens.length === 0 && !gateway.config.admin.trust) return done(closed())
    done(originFault(raw, browserOriginOf(raw, gateway.config.trustedProxies)))
  })
  requireKnownQueries(app)
  takeTexts(app, jsonTypes)

  app.post(url, { bodyLimit: 16_384 }, (request, reply) => {
    const { token } = readSecret(request.body, signInBody) as { token: string }
    const visit = browserOriginOf(request.raw, gateway.config.trustedProxies)
    const { session, cookie, secret } = signIns.begin(token, visit.address)
    request.admin = session
    void reply.header('set-cookie', setCookie(visit, cookie, longestMs))
    return reply.code(201).send({ secret, ...sessionView(session) })
  })

  app.get(url, (request, reply) => {
    const named = namedBy(request.raw)
    if (named instanceof Refusal) throw named
    if (named) {
      request.admin = named
      return reply.send(sessionView(named))
    }
    const { session, headers } = entered(entryOf(request.raw))
    request.admin = session
    return reply.headers(headers).send(sessionView(session))
  })

  app.delete(url, ({ raw }, reply) => {
    const visit = browserOriginOf(raw, gateway.config.trustedProxies)
    return reply
      .header('set-cookie', setCookie(visit, '', 0))
      .code(204)
      .send()
  })
}

function entered(entry: RequestSession | Refusal | undefined): RequestSession {
  if (entry === undefined) throw missing()
  if (entry instanceof Refusal) throw entry
  return entry
}
