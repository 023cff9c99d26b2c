import type { Call } from './call.ts'
import { headerLiterals, linesOr, literal } from './literals.ts'

/** A request as a module of JavaScript, for Node, Deno and Bun. */
export function javascript(call: Call): string {
  const { method, url, body } = call
  return [
    `const answer = await fetch(${literal(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${literal(method)},`]),
    '  headers: {',
    ...headerLiterals(call, 'process.env.KEY').map(([name, value]) => `    ${name}: ${value},`),
    '  },',
    ...(body === undefined ? [] : [`  body: ${linesOr(body, inLines)},`]),
    '})',
    'console.log(answer.status, await answer.text())',
  ].join('\n')
}

function inLines(text: string): string {
  return `\`${text.replace(/[\\`]|\$(?=\{)/g, '\\$&')}\``
}
