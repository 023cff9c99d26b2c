// Prints what CHANGELOG.md says of the version of package.json, for the page of a release.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared.mjs'
import { sectionOf } from './changelog.mjs'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)
if (!section) {
  process.stderr.write(`CHANGELOG.md has no section ${version}.\n`)
  process.exit(1)
}
process.stdout.write(`${section.text}\n`)
