import { Session, type Profiler } from 'node:inspector/promises'
import t from 'tap'
import { Agent, request } from 'undici'
import { startGateway } from '../support/gateway.ts'
import { root } from '../support/process.ts'

/** The most files and functions of ours that a forwarded request goes through, where nothing rare is configured. */
const most = { files: 70, functions: 180 }

/** A function that is called this often a request is on its way. */
const often = 0.9
const requests = 40

t.test('a forwarded request goes through few files and functions', async (t) => {
  const { url, key } = await startGateway(t)
  const { headers } = await key()
  const dispatcher = new Agent({ connections: 1 })
  t.teardown(() => dispatcher.close())
  const ask = async (): Promise<void> => {
    const { statusCode, body } = await request(`${url}/v1/pets`, { headers, dispatcher })
    await body.text()
    if (statusCode !== 200) t.fail(`${statusCode}`)
  }
  // The first ones look for what is kept afterwards.
  for (let i = 0; i < 5; i++) await ask()
  const session = new Session()
  session.connect()
  t.teardown(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  for (let i = 0; i < requests; i++) await ask()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const called = new Map(result.flatMap(calledIn))
  const functions = [...called.values()].flat()
  const files = [...called.keys()]
  t.comment(`${files.length} files, ${functions.length} functions`)
  t.ok(files.length > 40 && files.length <= most.files, files.join('\n'))
  t.ok(functions.length > 80 && functions.length <= most.functions, functions.join('\n'))
})

/** The functions of one of our files that each request calls. */
function calledIn({ url, functions }: Profiler.ScriptCoverage): [file: string, names: string[]][] {
  const [, file] = url.split(`file://${root}`)
  if (!file || !/^(?:gateway|shared)\//.test(file)) return []
  const called = functions.filter(({ ranges: [whole] }) => (whole?.count ?? 0) >= often * requests)
  const names = called.map(({ functionName, ranges: [whole] }) => {
    return `${file} ${functionName || `at ${whole?.startOffset}`}`
  })
  return names.length > 0 ? [[file, names]] : []
}
