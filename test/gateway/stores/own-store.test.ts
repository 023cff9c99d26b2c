import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { storeContract } from '../../../gateway/contracts/index.ts'
import type { OwnStores } from '../../../gateway/index.ts'
import { folderOf } from '../../support/folder.ts'
import { root } from '../../support/process.ts'
import { shownFiles } from '../../support/readme.ts'

const page = 'gateway/front/stores/own/README.md'

/** Where the package's entries are in a checkout. */
const entries = {
  step: 'gateway/step.ts',
  contracts: 'gateway/contracts/index.ts',
  '': 'gateway/index.ts',
}

/** The modules of the page, which find the package here. */
const folder = folderOf(t)
for (const [name, text] of Object.entries(shownFiles(page))) {
  const code = text.replace(/'tollgate(?:\/(\w+))?'/g, (_, entry: keyof typeof entries = '') => {
    return JSON.stringify(pathToFileURL(join(root, entries[entry])).href)
  })
  writeFileSync(join(folder, name), code)
}
type Memory = object
const moduleOf = (name: string) => import(pathToFileURL(join(folder, `${name}.ts`)).href)
const { Memory: Shown } = (await moduleOf('memory')) as {
  Memory: new (now: () => number) => Memory
}
const { openStore } = (await moduleOf('store')) as { openStore: (memory: Memory) => OwnStores }

t.test('the store of the page keeps all promises', (t) => {
  let promises = 0
  storeContract({
    test(name, run) {
      promises++
      return t.test(name, run)
    },
    open() {
      let now = Date.now()
      const memory = new Shown(() => now)
      const [first, second] = [openStore(memory), openStore(memory)]
      const close = async () => void (await Promise.all([first.close(), second.close()]))
      return Promise.resolve({ first, second, setTime: (ms) => void (now = ms), close })
    },
  })
  t.ok(promises > 100, `${promises} promises, as the page says`)
  t.end()
})
