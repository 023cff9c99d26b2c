// Imported before anything else, and in plain old syntax, so that an old Node gets a sentence.
const tried = [
  [20, 19],
  [22, 14],
  [24, 0],
  [26, 0],
]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (!tried.some(([line, from]) => major === line && minor >= from)) {
  process.stderr.write(
    `Tollgate needs Node 20 (from 20.19), 22 (from 22.14), 24 or 26, with which it was tried; ` +
      `this is ${process.versions.node}. Install one of them from https://nodejs.org.\n`,
  )
  process.exit(1)
}
