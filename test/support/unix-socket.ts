import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** The path of a Unix socket for one test. Paths of tap's own folders may be too long for one. */
export function socketPathFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return join(folder, 'animals.sock')
}
