import type { Terms } from '../terms.ts'

/** A request as a program sends it: its URL in ASCII, and the header in which its key goes. */
export type Call = Readonly<{
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
  key: Terms['keyHeader']
}>

/** The languages of samples, each with how a request is written in it. The key is `KEY` of the environment in all of them. */
export const samples = { curl, JavaScript: javascript } satisfies Readonly<
  Record<string, (call: Call) => string>
>

export type Language = keyof typeof samples

export const languages = Object.keys(samples) as readonly Language[]

/** A request as a command of a POSIX shell. */
function curl({ method, url, headers, body, key }: Call): string {
  const lines = [
    `curl${how(method, body)}${/[[\]{}]/.test(url) ? ' -g' : ''} ${quoted(url)}`,
    `-H "${key.name}: ${key.before}$KEY"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  return lines.join(' \\\n  ')
}

function how(method: string, body: string | undefined): string {
  if (body === undefined && method === 'HEAD') return ' -I'
  if (body === undefined && method === 'GET') return ' -i'
  return ` -i -X ${/^[A-Z]+$/.test(method) ? method : quoted(method)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A request as a module of JavaScript, for Node, Deno and Bun. */
function javascript({ method, url, headers, body, key }: Call): string {
  const held = 'process.env.KEY'
  const value = key.before === '' ? held : `${literal(key.before)} + ${held}`
  const others = Object.entries(headers).map(([name, text]) => [literal(name), literal(text)])
  return [
    `const answer = await fetch(${literal(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${literal(method)},`]),
    '  headers: {',
    ...[[literal(key.name), value], ...others].map((each) => `    ${each.join(': ')},`),
    '  },',
    ...(body === undefined ? [] : [`  body: ${inLines(body)},`]),
    '})',
    'console.log(answer.status, await answer.text())',
  ].join('\n')
}

/** A text as a literal in double quotes. Some editors drop a byte order mark. */
function literal(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll('\ufeff', '\\ufeff')
}

/** A text of several lines in quotes that keep them, and any other as a usual literal. */
function inLines(text: string): string {
  // Readers of source code change these ends of lines, or refuse the characters.
  const isPlain = text.includes('\n') && !/[\r\0\ufeff]/.test(text)
  return isPlain ? `\`${text.toWellFormed().replace(/[\\`]|\$(?=\{)/g, '\\$&')}\`` : literal(text)
}
