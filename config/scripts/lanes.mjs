/** Named parts of the tests, for `npm test -- NAME`. */
export const lanes = {
  /** Every stage, keys, limits, configuration and forwarding, as far as they need no Redis, process or browser. */
  quick: files(`
    shared/values  shared/requests  shared/log  support/openapi  support/openapi-requests  walls
    backend/interface/animals  backend/interface/requests
    gateway/way  gateway/paths  gateway/reading-costs  gateway/advisories  gateway/deprecation  gateway/odd-answers  gateway/acts/as-real
    gateway/authenticate/keys  gateway/authenticate/strangers  gateway/keys/import  gateway/keys/directory
    gateway/admit/bans  gateway/stores/in-a-file  gateway/exceptions/operations
    gateway/config/variables  gateway/config/mistakes  gateway/config/edit
    gateway/forward/answers  gateway/forward/bodies  gateway/forward/headers  gateway/forward/routes-and-targets
  `),
  /** Those that fail when a Node changes its private parts (shared/node/README.md). */
  seams: files(`
    gateway/chunks  gateway/connections  gateway/framing  gateway/odd-orders  gateway/pipelining  gateway/websockets
  `),
}

/** Files whose measurements others would spoil: they run last, one at a time. */
export const alone = files('faults/exact  gateway/reading-costs')

/** Files that measure the process in which they run. */
export const ownProcess = [
  ...alone,
  ...files('gateway/admin/stops  gateway/config/yaml-cost  gateway/traces/sending'),
]

function files(names) {
  return names.match(/\S+/g).map((name) => `test/${name}.test.ts`)
}
