import { noUpstream } from './asking.ts'
import type { Config } from './config.ts'

/** A configuration as callers meet it: without the routes that are only decided. */
export function forwardedIn(config: Config): Config {
  const routes = config.routes.filter(({ upstream }) => upstream !== noUpstream)
  return routes.length === config.routes.length ? config : { ...config, routes }
}

/** A configuration as proxies meet it that ask for decisions: CORS, and the gateway's own paths, are theirs to forward. */
export function decidedIn(config: Config): Config {
  return {
    ...config,
    routes: config.routes.filter(({ upstream }) => upstream === noUpstream),
    upstreams: new Map(),
    cors: { ...config.cors, origins: [] },
    ...{ quotaPath: undefined, usagePath: undefined, portal: undefined, tickets: false },
  }
}
