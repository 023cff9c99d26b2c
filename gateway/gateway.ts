import type { FastifyInstance } from 'fastify'
import type { Server } from 'node:http'
import type { Clock } from '../shared/clock.ts'
import type { LogSettings } from '../shared/log.ts'
import { serviceLog } from '../shared/request-log.ts'
import type { Config } from './front/config/config.ts'
import type { Front } from './front/front.ts'
import type { ListenAt } from './front/http/listen-at.ts'
import { FrontServer } from './front/server.ts'
import type { Office } from './office/office.ts'
import { openWings, type Wings, type WingsOptions } from './wings.ts'

export type GatewayOptions = Omit<WingsOptions, 'clock' | 'log'> &
  Readonly<{
    clock?: Clock
    log?: LogSettings | undefined
    /** The system's limit of open files and connections; without it, connections aren't bounded. */
    descriptors?: number | undefined
  }>

const noLog: LogSettings = { level: 'silent', target: { write: () => true } }

/** A gateway in a process of its own: a server for callers in front, and the office behind it. */
export class Gateway {
  readonly front: Front
  readonly office: Office
  readonly log: FastifyInstance['log']
  readonly #wings: Wings
  readonly #server: FrontServer

  private constructor(wings: Wings, server: FrontServer, log: FastifyInstance['log']) {
    this.front = wings.front
    this.office = wings.office
    this.log = log
    this.#wings = wings
    this.#server = server
  }

  /** Opens both wings, without listening. */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const { log: logSettings = noLog, clock = Date.now } = options
    const log = serviceLog('gateway', logSettings)
    const wings = await openWings({ ...options, clock, log })
    try {
      const { front } = wings
      const server = await FrontServer.open({ ...options, front, clock, log, logSettings })
      return new Gateway(wings, server, log)
    } catch (error) {
      await wings.close()
      throw error
    }
  }

  get server(): Server {
    return this.#server.server
  }

  get config(): Config {
    return this.#server.config
  }

  /** The number of requests under the configuration in force that it has not answered yet. */
  get underWay(): number {
    return this.#server.underWay
  }

  listen(at: ListenAt): Promise<string> {
    return this.#server.listen(at)
  }

  /** Opens the address for a proxy that asks, where the configuration has one. Gives it as a URL. */
  listenForProxy(at: ListenAt): Promise<string | undefined> {
    return this.#server.listenForProxy(at)
  }

  /** Applies another configuration from the next request on. If its app can't be built, nothing changes. */
  async change(config: Config): Promise<void> {
    await this.#server.change(config)
    this.office.change(config)
  }

  async close(): Promise<void> {
    await this.#server.close()
    await this.#wings.close()
  }
}
