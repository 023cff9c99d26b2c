import t from 'tap'
import type { Failure } from '../../../gateway/front/forwarding/attempt.ts'
import { endingOf } from '../../../gateway/front/forwarding/ending.ts'
import type { Target } from '../../../gateway/front/forwarding/target.ts'
import type { RefusalCode } from '../../../shared/refusal.ts'

const cause = new Error('the cause')

function failure(kind: Failure['kind'], isUnwanted = false): Failure {
  return { kind, cause, isUnsent: false, isUnwanted, target: {} as Target }
}

t.test('a failure of the backend is logged, and gives the points back', (t) => {
  const codes: readonly [Failure['kind'], RefusalCode][] = [
    ['unreachable', 'bad_gateway'],
    ['broken', 'bad_gateway'],
    ['late', 'gateway_timeout'],
  ]
  for (const [kind, code] of codes) {
    t.match(endingOf(failure(kind)), { refusal: { code }, cause, isGivenBack: true }, kind)
  }
  t.end()
})

t.test('a failure of the caller is neither logged nor given back', (t) => {
  const codes: readonly [Failure['kind'], RefusalCode][] = [
    ['slow', 'request_timeout'],
    ['unsendable', 'invalid_request'],
  ]
  for (const [kind, code] of codes) {
    const ending = endingOf(failure(kind))
    t.match(ending, { refusal: { code }, isGivenBack: false }, kind)
    t.equal(ending.cause, undefined, kind)
  }
  t.end()
})

t.test('a body that the backend does not want is logged, and not given back', (t) => {
  t.match(endingOf(failure('broken', true)), {
    refusal: { code: 'bad_gateway' },
    cause,
    isGivenBack: false,
  })
  t.end()
})
