import type { Call } from './call.ts'
import { headerLiterals, linesOr, literal } from './literals.ts'

/** A request as a program for Python 3.9 and later, which needs no package. */
export function python(call: Call): string {
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
    ...(body === undefined ? [] : [`    data=${linesOr(body, inLines)}.encode(),`]),
    ')',
    'try:',
    '    answer = urllib.request.urlopen(request)',
    'except urllib.error.HTTPError as refusal:',
    '    answer = refusal',
    'print(answer.status, answer.read().decode())',
  ].join('\n')
}

function inLines(text: string): string {
  return `'''${text.replace(/[\\']/g, '\\$&')}'''`
}
