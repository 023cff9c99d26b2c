import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { folderOf } from '../support/folder.ts'
import { root } from '../support/process.ts'

t.test('of several that open a new file at once, none is refused', async (t) => {
  const folder = folderOf(t)
  const files = Array.from({ length: 150 }, (_, i) => join(folder, `${i}.db`))
  const bar = new Int32Array(new SharedArrayBuffer(4 * files.length))
  const workerData = { bar, workers: 3, files }
  const program = join(root, 'test/support/opening.ts')
  const failures = await Promise.all(
    [1, 2, 3].map(async () => (await once(new Worker(program, { workerData }), 'message'))[0]),
  )
  t.strictSame(failures, [undefined, undefined, undefined])
})
