// Imported before anything else, and in plain old syntax, so that an old Node gets a sentence.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const fits = (major === 20 && minor >= 19) || (major === 22 && minor >= 14) || major > 22

if (!fits) {
  process.stderr.write(
    `Tollgate needs Node 20.19 or newer of the 20 line, or Node 22.14 or newer; ` +
      `this is ${process.versions.node}. Install a newer one from https://nodejs.org.\n`,
  )
  process.exit(1)
}
