import t from 'tap'
import { secretsAfterRotation } from '../../../gateway/front/keys/rotation.ts'

const now = Date.UTC(2026, 5, 15, 12)
const hour = 3_600_000

t.test('the last secret works on for the overlap, and no older one does', (t) => {
  const secrets = [{ hash: 'last' }, { hash: 'older', untilMs: now + hour }]
  t.strictSame(secretsAfterRotation(secrets, 'new', now, hour), [
    { hash: 'new' },
    { hash: 'last', untilMs: now + hour },
    { hash: 'older', untilMs: now },
  ])
  t.end()
})

t.test('a secret that ends before the overlap does keeps its end', (t) => {
  const secrets = [{ hash: 'last', untilMs: now + 1 }]
  const [, last] = secretsAfterRotation(secrets, 'new', now, hour)
  t.strictSame(last, { hash: 'last', untilMs: now + 1 })
  t.end()
})

t.test('a secret is forgotten a day after its end', (t) => {
  const ended = (hash: string, agoMs: number) => ({ hash, untilMs: now - agoMs })
  const secrets = [{ hash: 'last' }, ended('kept', 24 * hour - 1), ended('forgotten', 24 * hour)]
  t.strictSame(
    secretsAfterRotation(secrets, 'new', now, 0).map(({ hash }) => hash),
    ['new', 'last', 'kept'],
  )
  t.end()
})

t.test('a key without a secret has one after it', (t) => {
  t.strictSame(secretsAfterRotation([], 'new', now, hour), [{ hash: 'new' }])
  t.end()
})
