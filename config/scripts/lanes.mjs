/** The folders of `npm run test:all` alone: they need other programs than a Redis, or fleets of processes, or take long. */
export const beside = {
  browser: 'browsers',
  fleet: 'fleets of processes',
  faults: 'faults',
  floods: 'floods',
  deploy: 'packages and images',
  postgres: 'a store in PostgreSQL',
  scripts: 'scripts',
  bench: 'the load of the benchmark',
}

const ofOthers = new RegExp(`^test/(?:${Object.keys(beside).join('|')})/`)

/** Whether `npm test` runs a file. */
export function isUsual(file) {
  return !ofOthers.test(file)
}

/** Files that fail when a Node changes its private parts (shared/node/README.md): `npm test -- seams`. */
export const seams = files(`
  floods/chunks  gateway/connections  gateway/framing  gateway/odd-orders  floods/pipelining  gateway/websockets
`)

/** Files whose measurements others would spoil: they run last, one at a time. */
export const alone = files('faults/exact  floods/readers')

/** Files that measure the process in which they run. */
export const ownProcess = [
  ...alone,
  ...files('fleet/stops  floods/yaml  fleet/traces  gateway/way-count'),
]

function files(names) {
  return names.match(/\S+/g).map((name) => `test/${name}.test.ts`)
}
