import type { FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../../shared/clock.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { Type } from '../../../shared/schema.ts'
import { PageFile, PageFolder, pageHeaders } from '../../front/http/page-files.ts'
import type { OperatedGateway } from '../office.ts'
import { jsonTypes, takeTexts } from './body.ts'
import { browserOriginOf, originFault, privately, sessionCookie, type Browsers } from './browser.ts'
import { readSecret } from './given.ts'
import { pageScreen } from './hosts.ts'
import { requireKnownQueries } from './query.ts'
import { closed, missing } from './refusals.ts'
import { sessionView, type Sessions } from './session.ts'
import { SignIns } from './sign-in.ts'
import type { AdminSecrets } from './token.ts'

const folder = fileURLToPath(new URL('./console', import.meta.url))

/** The files are the same for every gateway, so they are read, and packed, once. */
let pages: PageFolder | undefined

/** The page of a gateway with tokens, and of one without. */
const usualPage = 'index.html'
const closedPage = 'no-token.html'

export type ConsoleOptions = Readonly<{
  gateway: OperatedGateway
  secrets: AdminSecrets
  browsers: Browsers
  sessions: Sessions
  clock: Clock
}>

/** Adds the console: its page, its files and its session. */
export function addConsole(app: FastifyInstance, options: ConsoleOptions): void {
  const hostFault = pageScreen(options.gateway.config.admin)
  void app.register((inner, _options, done) => {
    // In this scope and not by the path as it came: the router also finds a path with needless escapes.
    inner.addHook('onRequest', ({ raw }, _reply, done) => done(hostFault(raw)))
    void inner.register(addFiles, options)
    void inner.register(addSession, options)
    done()
  })
}

/** Adds a route for each file, so that no path can lead to another. */
const addFiles: FastifyPluginCallback<ConsoleOptions> = (
  app,
  { gateway, secrets, browsers },
  done,
) => {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.headers(pageHeaders)
    done()
  })
  app.get('/console', (_request, reply) => reply.redirect('/console/', 308))
  pages ??= new PageFolder(folder)
  const [usual, closed] = [pages.page(usualPage), pages.page(closedPage)]
  if (!usual || !closed) return done()
  // It asks for no token.
  const named = new PageFile(usualPage, async () =>
    Buffer.from((await usual.bytes()).toString().replace('<body>', '<body data-named>')),
  )
  const pageFor = ({ raw }: FastifyRequest): PageFile => {
    if (browsers.named(raw)) return named
    return secrets.tokens.length > 0 || gateway.config.admin.trust ? usual : closed
  }
  app.get('/console/', (request, reply) => pageFor(request).answer(request, reply))
  for (const [path, file] of pages.files) {
    app.get(`/console/${path}`, (request, reply) => file.answer(request, reply))
  }
  done()
}

const signInBody = Type.Object(
  { token: Type.String() },
  { additionalProperties: false, expected: 'an object with "token"' },
)

const addSession: FastifyPluginCallback<ConsoleOptions> = (app, options, done) => {
  const { gateway, secrets, browsers, sessions, clock } = options
  const url = '/console/session'
  const { audit, strangers } = gateway.front.stores
  const signIns = new SignIns({ secrets, sessions, audit, log: app.log, clock, strangers })
  const visitOf = ({ raw }: FastifyRequest) => browserOriginOf(raw, gateway.config.trustedProxies)
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(privately)
    if (secrets.tokens.length === 0 && !gateway.config.admin.trust) return done(closed())
    done(originFault(request.raw, visitOf(request)))
  })
  requireKnownQueries(app)
  takeTexts(app, jsonTypes)

  app.post(url, { bodyLimit: 16_384 }, (request, reply) => {
    const { token } = readSecret(request.body, signInBody) as { token: string }
    const visit = visitOf(request)
    const { session, cookie, secret } = signIns.begin(token, visit.address)
    request.admin = session
    void reply.header('set-cookie', sessionCookie(visit, cookie, session))
    return reply.code(201).send({ secret, ...sessionView(session) })
  })

  app.get(url, (request, reply) => {
    const found = browsers.named(request.raw) ?? browsers.signedIn(request.raw) ?? missing()
    if (found instanceof Refusal) throw found
    request.admin = found.operator
    return reply.headers(found.headers).send(sessionView(found.operator))
  })

  app.delete(url, (request, reply) =>
    reply
      .header('set-cookie', sessionCookie(visitOf(request)))
      .code(204)
      .send(),
  )
  done()
}
