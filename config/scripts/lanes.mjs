/** Named parts of the tests, for `npm test -- NAME`. */
export const lanes = {
  /** Without Redis, and without processes of its own. */
  quick: files(`
    shared/shared  support/openapi  support/openapi-requests  backend/interface  walls
    gateway/paths  gateway/way  gateway/advisories  gateway/deprecation  gateway/forward  gateway/odd-answers
  `),
  /** Those that fail when a Node changes its private parts (shared/node/README.md). */
  seams: files('gateway/connections  gateway/framing  gateway/odd-orders  gateway/pipelining'),
}

function files(names) {
  return names.match(/\S+/g).map((name) => `test/${name}.test.ts`)
}
