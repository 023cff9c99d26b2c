// Makes the package: npm run package, with options of npm pack. What is packed is a copy, in which links that leave the package lead to
// the repository: those of the checkout are relative.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npmCommand } from './npm.mjs'
import { addressOf, packedText } from './package-links.mjs'
import { prepareOrExit } from './prepare.mjs'
import { root } from './shared.mjs'

if (process.env.npm_lifecycle_event === 'prepack') {
  process.stderr.write(
    'npm pack here would pack links that lead nowhere. Make the package by: npm run package\n',
  )
  process.exit(1)
}
await prepareOrExit({ forTests: true })
await import('./build.mjs')
const copy = mkdtempSync(join(tmpdir(), 'tollgate-package-'))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
const address = addressOf(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
const packed = JSON.parse(npmPack(root, ['--dry-run', '--json']))[0].files.map(({ path }) => path)
for (const path of packed) {
  const [from, to] = [join(root, path), join(copy, path)]
  cpSync(from, to)
  if (path.endsWith('.md'))
    writeFileSync(to, packedText(readFileSync(to, 'utf8'), path, packed, address))
}
process.stdout.write(npmPack(copy, ['--pack-destination', root, ...process.argv.slice(2)]))

/** Packs a folder as it is, and gives what npm prints. */
function npmPack(folder, options) {
  const [command, ...first] = npmCommand()
  const args = [...first, 'pack', '--ignore-scripts', ...options]
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
  if (status === 0) return stdout
  process.stderr.write(stderr)
  process.exit(1)
}
