import { spawn } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { completePages, pageFolders } from './pages.mjs'
import { digestOf, root, SetupError, showProgress } from './shared.mjs'

const target = join(root, 'build')
const stampFile = join(target, '.stamp')
const folders = ['gateway', 'backend', 'shared', 'test']

/** Compiles files that are newer than the last build. Type errors are shown and end it. */
export async function build() {
  const files = sourceFiles()
  const stamp = digestOf([...files, join(root, 'tsconfig.json'), join(root, 'package-lock.json')])
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  rmSync(target, { recursive: true, force: true })
  const done = showProgress(() => 'Building')
  const runs = await Promise.all(['', ...pageFolders].map((folder) => compile(join(root, folder))))
  const code = runs.some((run) => run.code !== 0) ? 1 : 0
  const output = runs.map((run) => run.output).join('')
  done(code === 0)
  if (code !== 0) throw new SetupError(`${output}The code does not compile.`)
  for (const file of files) {
    if (!/\.m?ts$/.test(file)) cpSync(file, join(target, relative(root, file)))
  }
  completePages(target)
  writeFileSync(stampFile, stamp)
}

function sourceFiles() {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|lua|html|css|js|svg)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort(),
  )
}

function compile(project) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  return new Promise((resolve, reject) => {
    let output = ''
    const child = spawn(process.execPath, [compiler, '-p', project], { cwd: root })
    child.stdout.on('data', (text) => (output += text))
    child.stderr.on('data', (text) => (output += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await build().catch((error) => {
    process.stderr.write(`${error instanceof SetupError ? error.message : error.stack}\n`)
    process.exit(1)
  })
}
