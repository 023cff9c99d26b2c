/** As much of pg as the store needs: it has no types of its own. */
declare module 'pg' {
  type Row = Readonly<Record<string, unknown>>
  type Result = Readonly<{ rows: readonly Row[]; rowCount: number | null }>
  type Notification = Readonly<{ channel: string; payload?: string }>

  interface Asked {
    query(text: string, values?: readonly unknown[]): Promise<Result>
  }

  export class Client implements Asked {
    constructor(options: Readonly<{ connectionString: string; connectionTimeoutMillis?: number }>)
    connect(): Promise<void>
    query(text: string, values?: readonly unknown[]): Promise<Result>
    end(): Promise<void>
    on(event: 'notification', heard: (message: Notification) => void): this
    on(event: 'error' | 'end', heard: (error: Error | undefined) => void): this
  }

  export class Pool implements Asked {
    constructor(
      options: Readonly<{
        connectionString: string
        max: number
        connectionTimeoutMillis: number
        query_timeout: number
      }>,
    )
    connect(): Promise<Asked & Readonly<{ release: (error?: Error) => void }>>
    query(text: string, values?: readonly unknown[]): Promise<Result>
    end(): Promise<void>
    on(event: 'error', heard: (error: Error) => void): this
    on(event: 'connect', made: (client: Client) => void): this
  }

  export type { Asked, Row }
  const all: { Client: typeof Client; Pool: typeof Pool }
  export default all
}
