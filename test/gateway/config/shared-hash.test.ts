import t from 'tap'
import { loadedFrom } from '../../../gateway/office/config/load.ts'

const text = `# A gateway
name: edge-1
listen: { port: 8080 }
admin: { port: 8081 }
plans: { free: { perMinute: 60, perDay: 1000 } }
upstreams: { animals: { targets: [ "http://127.0.0.1:8090" ] } }
routes: [ { path: /v1/*, upstream: animals } ]
notices: [ { to: "https://hooks.example/", secret: "\${HOOK}" } ]
`

const hashesOf = (text: string, HOOK = 'a secret of 16 letters'): string[] => {
  const { config, sharedHash } = loadedFrom(text, { HOOK, ADMIN_TOKEN: 'x'.repeat(16) }, 'a.yaml')
  return [config.hash, sharedHash]
}

t.test('what a machine has for itself, comments and layout don’t change the shared hash', (t) => {
  const [hash, sharedHash = ''] = hashesOf(text)
  t.match(sharedHash, /^[0-9a-f]{12}$/)
  const alike: readonly (readonly [from: string, to: string])[] = [
    ['name: edge-1', 'name: edge-2'],
    ['name: edge-1\n', ''],
    ['port: 8080', 'port: 8082'],
    ['listen: { port: 8080 }\n', ''],
    ['admin: { port: 8081 }', 'admin: { host: 127.0.0.2, port: 8083, save: true }'],
    ['# A gateway', '# Another gateway'],
    ['{ free: { perMinute: 60, perDay: 1000 } }', '\n  free:\n    perMinute: 60\n    perDay: 1000'],
  ]
  for (const [from, to] of alike) {
    const [otherHash, otherShared] = hashesOf(text.replace(from, to))
    t.equal(otherShared, sharedHash, to)
    t.not(otherHash, hash, `${to}: the hash of the file is another one`)
  }
  t.end()
})

t.test('every other setting changes it', (t) => {
  const [, sharedHash] = hashesOf(text)
  const others: readonly (readonly [from: string, to: string])[] = [
    ['perMinute: 60', 'perMinute: 61'],
    ['perMinute: 60', 'perMinute: "${FREE:-60}"'],
    ['free:', 'name:'],
    ['${HOOK}', '${HOOK:-another default}'],
    ['# A gateway', 'drain: 1s'],
  ]
  for (const [from, to] of others) t.not(hashesOf(text.replace(from, to))[1], sharedHash, to)
  t.end()
})

t.test('the value of a variable isn’t hashed', (t) => {
  const limit = text
    .replace('perMinute: 60', 'perMinute: "${HOOK}"')
    .replace('secret: "${HOOK}"', 'secret: "of 16 or more letters"')
  t.strictSame(hashesOf(text, 'another one of 16 letters'), hashesOf(text))
  t.strictSame(hashesOf(limit, '70'), hashesOf(limit, '80'), 'nor that of one read as a number')
  t.end()
})
