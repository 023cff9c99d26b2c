import type { FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** The headers of pages: nothing from elsewhere, nothing inline, and no other page may frame or include them. */
export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The files that are served; others in the folder, such as types and maps, aren't. */
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
}

type Encoding = 'br' | 'gzip' | 'identity'
type Pack = (bytes: Buffer) => Promise<Buffer>

/** Packing in the thread pool, off the loop that serves callers. */
const brotli = promisify(brotliCompress)
const packBy: Readonly<Record<Encoding, Pack>> = {
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: promisify(gzip),
  identity: (bytes) => Promise.resolve(bytes),
}

/** A file in memory. Each encoding of it is made once, when it is asked for first. */
export class PageFile {
  readonly bytes: Buffer
  readonly #type: string
  readonly #etag: string | undefined
  readonly #packed = new Map<Encoding, Promise<Buffer>>()

  /** `isFinal`: the path changes with the content, so that it may be kept for ever. Otherwise nobody keeps it. */
  constructor(name: string, bytes: Buffer, isFinal: boolean) {
    this.bytes = bytes
    this.#type = typeOf(name) ?? 'application/octet-stream'
    this.#etag = isFinal ? digestOf([bytes]) : undefined
  }

  async answer({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const encoding = encodingFor(headers['accept-encoding'])
    void reply.header('vary', 'Accept-Encoding')
    if (this.#etag === undefined) void reply.header('cache-control', 'no-store')
    else {
      const etag = `"${this.#etag}-${encoding}"`
      void reply.headers({ etag, 'cache-control': 'public, max-age=31536000, immutable' })
      if (hasTag(headers['if-none-match'], etag)) return reply.code(304).send()
    }
    if (encoding !== 'identity') void reply.header('content-encoding', encoding)
    return reply.type(this.#type).send(await this.#in(encoding))
  }

  #in(encoding: Encoding): Promise<Buffer> {
    const packed = this.#packed.get(encoding) ?? packBy[encoding](this.bytes)
    this.#packed.set(encoding, packed)
    return packed
  }
}

/**
 * A folder of built files. A page (`.html`) has the path that its server gives it. All other files are below a digest of
 * the whole folder, which pages are made to name: modules find each other by relative names, and a new version has new
 * paths. A folder that isn't there has no files.
 */
export class PageFolder {
  /** All files but pages, by their paths. */
  readonly files: ReadonlyMap<string, PageFile>
  readonly #contents: ReadonlyMap<string, Buffer>
  readonly #digest: string

  constructor(folder: string) {
    this.#contents = contentsOf(folder)
    this.#digest = digestOf([...this.#contents].flat())
    const others = [...this.#contents].filter(([name]) => extname(name) !== '.html')
    this.files = new Map(
      others.map(([name, bytes]) => [this.#pathOf(name), new PageFile(name, bytes, true)]),
    )
  }

  /** A page that finds its files below `below`, from its own address; `undefined` if the folder has no such page. */
  page(name: string, below = ''): PageFile | undefined {
    const bytes = this.#contents.get(name)
    const text = bytes
      ?.toString()
      .replace(/\b(src|href)="(?:\.\/)?([^"]+)"/g, (all: string, kind: string, to: string) =>
        this.#contents.has(to) ? `${kind}="${below}${this.#pathOf(to)}"` : all,
      )
    return text === undefined ? undefined : new PageFile(name, Buffer.from(text), false)
  }

  #pathOf(name: string): string {
    return `${this.#digest}/${name}`
  }
}

function contentsOf(folder: string): ReadonlyMap<string, Buffer> {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && typeOf(entry.name) !== undefined)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name))]))
}

function typeOf(name: string): string | undefined {
  return types[extname(name)]
}

function digestOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:`).update(part)
  return hash.digest('hex').slice(0, 16)
}

/** The encoding for an `Accept-Encoding`: Brotli or gzip, where it is named and not refused with `q=0`. */
function encodingFor(header: string | string[] | undefined): Encoding {
  const accepted = new Set(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';').map((each) => each.trim()))
      .filter(([, quality = '']) => !/^q=0(?:\.0*)?$/.test(quality))
      .map(([name]) => name),
  )
  return accepted.has('br') ? 'br' : accepted.has('gzip') ? 'gzip' : 'identity'
}

function hasTag(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((each) => {
    const tag = each.trim().replace(/^W\//, '')
    return tag === etag || tag === '*'
  })
}
