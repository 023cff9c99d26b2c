import type { FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { forBrowsers, isScript, nameOfScript, packageFiles } from './page-scripts.ts'
import { stripTypes } from './strip-types.ts'

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
  '.txt': 'text/plain; charset=utf-8',
}

type Encoding = 'br' | 'gzip' | 'identity'

/** Packing in the thread pool, off the loop that serves callers. */
const brotli = promisify(brotliCompress)
const packBy = {
  br: (bytes: Buffer) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  gzip: promisify(gzip),
}

/** A file in memory. It, and each encoding of it, is made once, when it is asked for first. */
export class PageFile {
  readonly #make: () => Promise<Buffer>
  readonly #type: string
  readonly #etag: string | undefined
  readonly #packed = new Map<Encoding, Promise<Buffer>>()

  /** `tag`: the path changes with the content, so that it may be kept for ever. Otherwise nobody keeps it. */
  constructor(name: string, make: Buffer | (() => Promise<Buffer>), tag?: string) {
    this.#make = Buffer.isBuffer(make) ? () => Promise.resolve(make) : make
    this.#type = typeOf(name) ?? 'application/octet-stream'
    this.#etag = tag
  }

  bytes(): Promise<Buffer> {
    return this.#in('identity')
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
    const packed =
      this.#packed.get(encoding) ??
      (encoding === 'identity' ? this.#make() : this.bytes().then(packBy[encoding]))
    this.#packed.set(encoding, packed)
    // A failure isn't kept.
    packed.catch(() => this.#packed.delete(encoding))
    return packed
  }
}

/** The files that all pages share: a sheet, an icon, and scripts. */
const common = fileURLToPath(new URL('./page', import.meta.url))

/**
 * A folder of pages and their files. A page (`.html`) has the path that its server gives it. All other files are below a
 * digest of the whole folder, which pages are made to name: modules find each other by relative names, and a new version
 * has new paths. Scripts are TypeScript in a checkout and JavaScript in a package, and the same bytes to browsers. A folder
 * that isn't there has no files.
 */
export class PageFolder {
  /** All files but pages, by their paths. */
  readonly files: ReadonlyMap<string, PageFile>
  readonly #contents: ReadonlyMap<string, Buffer>
  readonly #digest: string
  /** The scripts without types, once one of them was asked for. */
  #scripts: Promise<ReadonlyMap<string, string>> | undefined

  constructor(folder: string) {
    const own = contentsOf(folder)
    const withOthers = [...own, ...contentsOf(common), ...packageFiles()]
    this.#contents = own.size === 0 ? own : new Map(withOthers)
    this.#digest = digestOf([...this.#contents].flat())
    this.files = new Map(
      [...this.#contents].flatMap(([name, bytes]) => {
        if (extname(name) === '.html') return []
        const make = isScript(name) ? () => this.#script(name) : bytes
        const path = this.#pathOf(nameOfScript(name))
        return [[path, new PageFile(path, make, digestOf([path, bytes]))]]
      }),
    )
  }

  /** A page that finds its files below `below`, from its own address; `undefined` if the folder has no such page. */
  page(name: string, below = ''): PageFile | undefined {
    const bytes = this.#contents.get(name)
    const text = bytes
      ?.toString()
      .replace(/\b(src|href)="(?:\.\/)?([^"]+)"/g, (all: string, kind: string, to: string) =>
        this.files.has(this.#pathOf(to)) ? `${kind}="${below}${this.#pathOf(to)}"` : all,
      )
    return text === undefined ? undefined : new PageFile(name, Buffer.from(text))
  }

  async #script(name: string): Promise<Buffer> {
    this.#scripts ??= withoutTypes(this.#contents)
    this.#scripts.catch(() => (this.#scripts = undefined))
    return Buffer.from(forBrowsers(name, (await this.#scripts).get(name) ?? ''))
  }

  #pathOf(name: string): string {
    return `${this.#digest}/${name}`
  }
}

async function withoutTypes(
  contents: ReadonlyMap<string, Buffer>,
): Promise<ReadonlyMap<string, string>> {
  const all = [...contents].map(([name, bytes]) => [name, bytes.toString()] as const)
  const scripts = all.filter(([name]) => isScript(name))
  const typed = scripts.filter(([name]) => name.endsWith('.ts'))
  if (typed.length === 0) return new Map(scripts)
  const stripped = await stripTypes(typed.map(([, text]) => text))
  return new Map([...scripts, ...typed.map(([name], i) => [name, stripped[i] ?? ''] as const)])
}

function contentsOf(folder: string): ReadonlyMap<string, Buffer> {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isShown(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name))]))
}

/** Whether it is a page or a file of one: not a README, types or a compiler's settings. */
function isShown(name: string): boolean {
  return (
    isScript(name) || (typeOf(name) !== undefined && !['.json', '.txt'].includes(extname(name)))
  )
}

function typeOf(name: string): string | undefined {
  return types[extname(name)]
}

function digestOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:`).update(part)
  return hash.digest('hex').slice(0, 16)
}

/** The most characters of a header that are read; a longer one asks for nothing. */
const longestHeader = 512

function listIn(header: string | string[] | undefined): string[] {
  const text = String(header ?? '')
  return text.length > longestHeader ? [] : text.split(',')
}

/** The encoding for an `Accept-Encoding`: Brotli or gzip, where it is named and not refused with `q=0`. */
function encodingFor(header: string | string[] | undefined): Encoding {
  const accepted = new Set(
    listIn(header)
      .map((part) => part.split(';').map((each) => each.trim().toLowerCase()))
      .filter(([, quality = '']) => !/^q=0(?:\.0*)?$/.test(quality))
      .map(([name]) => name),
  )
  return accepted.has('br') ? 'br' : accepted.has('gzip') ? 'gzip' : 'identity'
}

function hasTag(header: string | undefined, etag: string): boolean {
  return listIn(header).some((each) => {
    const tag = each.trim().replace(/^W\//, '')
    return tag === etag || tag === '*'
  })
}
