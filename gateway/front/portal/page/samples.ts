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
export const samples = { curl, JavaScript: javascript, Python: python, Go: go } satisfies Readonly<
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
function javascript(call: Call): string {
  const { method, url, body } = call
  return [
    `const answer = await fetch(${literal(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${literal(method)},`]),
    '  headers: {',
    ...headerLiterals(call, 'process.env.KEY').map(([name, value]) => `    ${name}: ${value},`),
    '  },',
    ...(body === undefined ? [] : [`  body: ${linesOr(body, inBackticks)},`]),
    '})',
    'console.log(answer.status, await answer.text())',
  ].join('\n')
}

function inBackticks(text: string): string {
  return `\`${text.replace(/[\\`]|\$(?=\{)/g, '\\$&')}\``
}

/** A request as a program for Python 3.9 and later, which needs no package. */
function python(call: Call): string {
  const { method, url, body } = call
  return [
    'import os',
    'import urllib.error',
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${literal(url)},`,
    ...(method === 'GET' ? [] : [`    method=${literal(method)},`]),
    '    headers={',
    ...headerLiterals(call, 'os.environ["KEY"]').map(
      ([name, value]) => `        ${name}: ${value},`,
    ),
    '    },',
    ...(body === undefined ? [] : [`    data=${linesOr(body, inTripleQuotes)}.encode(),`]),
    ')',
    'try:',
    '    answer = urllib.request.urlopen(request)',
    'except urllib.error.HTTPError as refusal:',
    '    answer = refusal',
    'print(answer.status, answer.read().decode())',
  ].join('\n')
}

function inTripleQuotes(text: string): string {
  return `'''${text.replace(/[\\']/g, '\\$&')}'''`
}

/** A request as a program of Go, which needs no package. */
function go(call: Call): string {
  const { method, url, body } = call
  const content = body === undefined ? 'nil' : `strings.NewReader(${linesOr(body, inRawQuotes)})`
  const imported = ['fmt', 'io', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])]
  return [
    'package main',
    '',
    'import (',
    ...imported.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    `\trequest, err := http.NewRequest(${literal(method)}, ${literal(url)}, ${content})`,
    ...failed,
    ...headerLiterals(call, 'os.Getenv("KEY")').map(
      ([name, value]) => `\trequest.Header.Set(${name}, ${value})`,
    ),
    '\tanswer, err := http.DefaultClient.Do(request)',
    ...failed,
    '\tdefer answer.Body.Close()',
    '\ttext, err := io.ReadAll(answer.Body)',
    ...failed,
    '\tfmt.Println(answer.StatusCode, string(text))',
    '}',
  ].join('\n')
}

const failed = ['\tif err != nil {', '\t\tpanic(err)', '\t}']

/** Between these quotes nothing is escaped, so the quote itself can't be there. */
function inRawQuotes(text: string): string | undefined {
  return text.includes('`') ? undefined : `\`${text}\``
}

/** A text as a literal in double quotes, which JavaScript, Python and Go read alike. A byte order mark would end Go's reading. */
function literal(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll('\ufeff', '\\ufeff')
}

/** A text of several lines in the quotes of a language that keep them, if it says how; any other as a usual literal. */
function linesOr(text: string, inLines: (text: string) => string | undefined): string {
  // Readers of source code change these ends of lines, or refuse the characters.
  const isPlain = text.includes('\n') && !/[\r\0\ufeff]/.test(text)
  return (isPlain ? inLines(text.toWellFormed()) : undefined) ?? literal(text)
}

/** The names and values of all headers as literals; `held` is the key as the language reads it from its environment. */
function headerLiterals({ headers, key }: Call, held: string) {
  const value = key.before === '' ? held : `${literal(key.before)} + ${held}`
  const others = Object.entries(headers).map(([name, text]) => [literal(name), literal(text)])
  return [[literal(key.name), value], ...others]
}
