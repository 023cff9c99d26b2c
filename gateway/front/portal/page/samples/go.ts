import type { Call } from './call.ts'
import { headerLiterals, linesOr, literal } from './literals.ts'

/** A request as a program of Go, which needs no package. */
export function go(call: Call): string {
  const { method, url, body } = call
  const content = body === undefined ? 'nil' : `strings.NewReader(${linesOr(body, inLines)})`
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
function inLines(text: string): string | undefined {
  return text.includes('`') ? undefined : `\`${text}\``
}
