import { readFileSync } from 'node:fs'

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
  const file = new URL('../../package.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Package
}
