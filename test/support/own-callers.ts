import Fastify from 'fastify'
import { join } from 'node:path'
import type { Test } from 'tap'
import { serverOptions, type OwnCaller } from '../../gateway/index.ts'
import type { ConfigFile } from '../../gateway/office/config/file.ts'
import { tollgate, type TollgateOptions } from '../../gateway/plugin.ts'
import { bearer } from './jwt.ts'
import { mine } from './plugin.ts'
import { folderOf } from './folder.ts'

export const plans: ConfigFile['plans'] = {
  free: { perMinute: 60, perDay: 1000 },
  pro: { perMinute: 300, perDay: 10000 },
  custom: { limits: 'custom' },
}

type OwnOptions = Partial<TollgateOptions> & Readonly<{ more?: Partial<ConfigFile> }>

/** An app that knows its callers itself: by default those of tokens such as `of-ada`. */
export async function startOwnCallers(
  t: Test,
  { more = {}, callers = ofToken, ...options }: OwnOptions = {},
) {
  const log: string[] = []
  const logger = { level: 'error', stream: { write: (text: string) => void log.push(text) } }
  const app = Fastify({ ...serverOptions(), logger })
  t.teardown(() => app.close())
  const asked: string[] = []
  const store = { file: join(folderOf(t), 'gateway.db') }
  const config = { plans, store, routes: [], notices: [], ...more }
  await app.register(tollgate, {
    ...{ config, ...options },
    callers: (token: string) => {
      asked.push(token)
      return callers(token)
    },
  })
  app.get('/mine', mine, ({ tollgate }) => tollgate?.caller)
  const ask = (token: string, url = '/mine') => app.inject({ url, headers: bearer(token) })
  const statusOf = async (token: string): Promise<number> => (await ask(token)).statusCode
  return { app, log, asked, ask, statusOf, config, operations: app.tollgate }
}

export function ofToken(token: string): OwnCaller | undefined {
  const [, id] = /^of-(\w+)/.exec(token) ?? []
  return id === undefined ? undefined : { id, plan: 'free' }
}
