// Runs files of tests that its parent names, one after the other: to load what they test takes longer than most of them.
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import tap from 'tap'

/** The test that a file's own tests are inside, by the file. */
const testByFile = (globalThis[Symbol.for('tests of files')] = new Map())
const scheme = 'test-of-file:'

// What a file imports as tap's test is the one that stands for the file.
registerHooks({
  resolve(specifier, context, next) {
    const isOfFile = specifier === 'tap' && testByFile.has(context.parentURL)
    return isOfFile
      ? { url: scheme + context.parentURL, shortCircuit: true }
      : next(specifier, context)
  },
  load(url, context, next) {
    if (!url.startsWith(scheme)) return next(url, context)
    const file = JSON.stringify(url.slice(scheme.length))
    const source = `export default globalThis[Symbol.for('tests of files')].get(${file})`
    return { format: 'module', source, shortCircuit: true }
  },
})

process.on('message', async ({ file, seconds }) => {
  await tap.test(file, { timeout: seconds * 1_000 }, async (t) => {
    const { href } = pathToFileURL(file)
    testByFile.set(href, t)
    await import(href)
  })
  // Otherwise tap lets a process end that only waits for its parent.
  process.channel?.ref()
})
