import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { listen } from './listen.ts'

/** The niceness of this thread: callers go first. With 10, reports took twice as long on a busy machine. */
const niceness = 5

stepBack()
listen(async (beginning) => (await import('./answers.ts')).answerer(beginning))

/** Lets the system prefer the other threads, where one thread can have a niceness: on Linux. */
function stepBack(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // Then callers wait a little longer beside a question.
  }
}
