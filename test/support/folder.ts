import type { Test } from 'tap'

/** A new folder of a test's own, with these files; it is removed once the test's teardowns have ended. */
export function folderOf(t: Test, files: Parameters<Test['testdir']>[0] = {}): string {
  // tap removes it before all teardowns if none is there yet: from under services that still write into it.
  t.teardown(() => undefined)
  // eslint-disable-next-line no-restricted-properties
  return t.testdir(files)
}
