import { parseDocument } from 'yaml'
import * as prettier from 'prettier'
import { operations } from '../../gateway/office/operations/all.ts'

/**
 * The document of the admin API with the command and the role of each operation, as the table of operations has them. All
 * else is written by hand, and a test holds it to the table.
 */
export async function apiDocument(text) {
  const document = parseDocument(text)
  const served = operations.filter((operation) => 'at' in operation)
  for (const { at, name, role } of served) {
    for (const [method, path] of at.map((each) => each.split(' '))) {
      const methods = method === 'GET' ? ['get', 'head'] : [method.toLowerCase()]
      const places = methods.map((each) => ['paths', path, each])
      for (const place of places.filter((each) => document.hasIn(each))) {
        document.setIn([...place, 'x-command'], name)
        document.setIn([...place, 'x-role'], role)
      }
    }
  }
  return prettier.format(document.toString({ lineWidth: 0 }), {
    parser: 'yaml',
    singleQuote: true,
    printWidth: 100,
  })
}
