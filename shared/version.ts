import { createRequire } from 'node:module'

type Package = Readonly<{ version: string; optionalDependencies: Readonly<Record<string, string>> }>

/** Reads the version of this package. */
export function version(): string {
  return ownPackage().version
}

/** Reads the packages that this one works without, as npm takes them. */
export function optionalPackages(): string[] {
  return Object.entries(ownPackage().optionalDependencies).map((each) => each.join('@'))
}

function ownPackage(): Package {
  // By its name, because a compiled file lies deeper than this one.
  return createRequire(import.meta.url)('tollgate/package.json') as Package
}
