import type { Call } from './call.ts'

/** A request as a command of a POSIX shell. */
export function curl({ method, url, headers, body, key }: Call): string {
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
