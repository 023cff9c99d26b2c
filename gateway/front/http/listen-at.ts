import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where a server listens. */
export type ListenAt = Readonly<{ host: string; port: number }>

/** Has a server listen, and gives its URL. */
export function listenAt(
  server: Server,
  { host, port }: ListenAt,
  isTls: boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const { address, family, port } = server.address() as AddressInfo
      resolve(
        `${isTls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
      )
    })
  })
}
