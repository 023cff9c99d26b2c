/** Headers for one connection only, in either direction. */
export const hopByHop =
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings'

/** Characters that Node refuses to send in a header. */
export const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Headers that no backend sees: those for this connection alone, a caller's credentials, and those in which
 * proxies tell address, user, certificate, URL or method. Such headers have many names, each is believed by
 * some backend, and only the gateway may say these things.
 */
const withheldFromBackend = new Set(
  [
    hopByHop,
    'host content-length expect authorization cookie proxy x-request-id',
    // The client's address.
    'x-real-ip x-client-ip client-ip x-cluster-client-ip true-client-ip x-true-client-ip x-originating-ip',
    'cf-connecting-ip cf-connecting-ipv6 cf-pseudo-ipv4 fastly-client-ip fly-client-ip do-connecting-ip',
    'incap-client-ip x-sucuri-clientip x-azure-clientip x-azure-socketip x-nf-client-connection-ip',
    'x-vercel-forwarded-for x-vercel-proxied-for x-proxyuser-ip wl-proxy-client-ip',
    // URL and method.
    'x-rewrite-url x-rewrite-uri x-override-url x-host x-http-host-override x-http-destinationurl',
    'x-scheme x-url-scheme front-end-https x-http-method x-http-method-override x-method-override',
    // A user or certificate that another proxy would have checked.
    'x-anonymous-consumer x-credential-identifier x-arr-clientcert x-client-cert',
  ]
    .join(' ')
    .split(' '),
)
const familiesWithheldFromBackend = new RegExp(
  `^(?:${[
    'x-caller|x-gateway|proxy',
    '(?:x-)?forwarded|x-original|x-envoy|x-appengine',
    '(?:x-)?remote|x-webauth|x-auth-request|x-authenticated|x-authentik|x-consumer|x-pomerium|tailscale-user',
    'cf-access|x-goog-iap|x-goog-authenticated-user|x-ms-client-principal|x-ms-token|x-amzn-oidc|x-amzn-mtls',
    '(?:x-)?ssl|client-cert',
  ].join('|')})(?:-|$)`,
)

/** Whether no backend sees a header, whatever the configuration says. */
export function isWithheld(name: string): boolean {
  const spelled = plainName(name)
  return withheldFromBackend.has(spelled) || familiesWithheldFromBackend.test(spelled)
}

/**
 * A name in the form in which all servers agree: some turn `-`, or any character but letters and digits, into
 * `_` when they make variables of headers.
 */
export function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** Takes a header out of a list of names and values. */
export function dropHeader(headers: string[], name: string): void {
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    if (headers[i]?.toLowerCase() === name) headers.splice(i, 2)
  }
}
