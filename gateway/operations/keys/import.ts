import { operation } from '../operation.ts'

export const importKeys = operation({
  name: 'keys import',
  at: ['POST /admin/keys/import'],
  summary: 'Add the keys of another system, all or none',
  details:
    'FILE is CSV with a line of column names, or JSON lines. Columns: token or sha256 (hex or ' +
    'base64url), plan, and, as needed, name, account, perMinute, perDay, expires, note, test (true or ' +
    'false).',
  parameters: {
    file: {
      types: ['text/csv', 'application/x-ndjson', 'text/plain', 'application/json'],
      mostBytes: 64 * 2 ** 20,
    },
  },
  changes: true,
  role: 'all',
  run: async ({ desks, progress }, { file }) => {
    let draw: ((done: number) => void) | undefined
    const imported = await desks().keys.import(file.read(), (done, total) => {
      draw ??= progress('keys', total)
      draw(done)
    })
    return { imported }
  },
  text: ({ imported }) => `${imported.toLocaleString('en')} keys imported.`,
})
