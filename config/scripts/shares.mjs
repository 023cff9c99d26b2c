// Shares all files of tests out among some machines, as a workflow's output: node config/scripts/shares.mjs 4
const { filesOf } = await import('./runs.mjs')
const { readTimes, sharesOf } = await import('./times.mjs')

const count = Number(process.argv[2])
const shares = sharesOf(filesOf(['test']), readTimes(), count)
const list = shares.map((files, i) => ({ name: i + 1, files: files.join(' ') }))
process.stdout.write(`shares=${JSON.stringify(list)}\n`)
