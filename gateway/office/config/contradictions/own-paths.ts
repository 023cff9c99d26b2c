import { keyPaths, pagePaths } from '../../../front/http/own-paths.ts'
import { nameOf } from '../check.ts'
import type { Path } from '../mistake.ts'
import { pathPattern } from '../settings/values.ts'
import { pathFault } from './entries.ts'
import { mistake, section, text, type Quote, type Remark, type Section } from './remarks.ts'

const paths = new RegExp(pathPattern)

/** A path at which the gateway itself answers, and the setting that puts it there. */
export type OwnPath = Readonly<{ path: string; setting: Path }>

/** The gateway's own paths, as far as no variable decides them. */
export function ownPathsIn(file: Section): OwnPath[] {
  const at = (name: string): OwnPath[] => {
    const path = text(section(file[name])['path'])
    return path === undefined || !paths.test(path) ? [] : [{ path, setting: [name, 'path'] }]
  }
  // A path that ends in / breaks its own rule.
  const pages = at('portal').filter(({ path }) => !path.endsWith('/'))
  const canRotate = section(file['portal'])['rotate'] === 'on'
  return [
    ...at('quota'),
    ...at('usage'),
    ...pages.flatMap(({ path, setting }) =>
      pagePaths(path).map((each) => ({ path: each, setting })),
    ),
    ...(canRotate ? [{ path: keyPaths.rotate, setting: ['portal', 'rotate'] }] : []),
  ]
}

/** Each of the gateway's own paths can be asked for, and is for one thing. */
export function* ownPathRemarks(file: Section, quote: Quote): Generator<Remark> {
  const settings = new Map<string, Path>()
  for (const { path, setting } of ownPathsIn(file)) {
    const other = settings.get(path)
    const shown = quote(setting)
    const fault =
      other === undefined || other === setting ? pathFault(path, () => shown) : undefined
    if (fault !== undefined && other === undefined) yield mistake(setting, fault)
    else if (other !== undefined) yield mistake(setting, `is ${nameOf(other)} as well: ${shown}`)
    settings.set(path, setting)
  }
}
