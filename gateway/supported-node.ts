// An app or a command of the package may run on a Node on which dependencies crash: this is loaded before them.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  throw new Error(
    `Tollgate needs Node 22 (from 22.18), 24 or 26; this is ${process.versions.node}.`,
  )
}
