/** The proxies that ask for decisions, each by its own headers or path. */
export const askingProxies = ['nginx', 'caddy', 'traefik', 'envoy'] as const
export type AskingProxy = (typeof askingProxies)[number]

/** The upstream of routes that are decided here, and forwarded by the proxy that asks. */
export const noUpstream = 'none'
