import t from 'tap'
import { storeContract } from '../../gateway/contracts/index.ts'
import { startPostgres, timeoutMs } from './server.ts'
import { openPostgres } from './store/open.ts'

const { newDatabase } = await startPostgres(t)

storeContract({
  stories: 20,
  test: (name, run) => t.test(name, run),
  async open() {
    let now = Date.now()
    const url = await newDatabase()
    const options = { testClock: () => now, timeoutMs }
    const [first, second] = [openPostgres(url, options), openPostgres(url, options)]
    const close = async () => void (await Promise.all([first.close(), second.close()]))
    return { first, second, setTime: (ms) => void (now = ms), close }
  },
})
