import { inputOf, signedAs, valueOf, withHeader, type Arrived } from './arrived.ts'

/** A request, and whether a backend refuses it, as it does by default. */
type Case = readonly [why: string, request: Arrived, isRefused?: boolean]

/** What somebody between gateway and backend can make of a request without the secret. */
export function* changed(request: Arrived): Generator<Case> {
  yield ['as it came', request, false]
  for (const about of ['id', 'plan', 'account', 'reference', 'tenant', 'scope', 'id-2']) {
    for (const name of [
      `X-Caller-${about}`,
      `X_Caller_${about}`,
      `x.caller.${about}`,
      'x-caller',
    ]) {
      yield [`another ${name}`, withHeader(request, name, 'zoo')]
      yield [`one more ${name}`, { ...request, headers: [...request.headers, [name, 'zoo']] }]
    }
    const name = `x-caller-${about}`
    if (valueOf(request, name)) yield [`no ${name}`, withHeader(request, name, undefined)]
  }
  const { method, target, body } = request
  yield ['another method', { ...request, method: method === 'GET' ? 'DELETE' : 'GET' }]
  for (const each of [`/x${target}`, `${target}/`, target.replace('/v1', '/%761'), '/'])
    yield [`the path ${each}`, { ...request, target: each }]
  for (const each of [`${target}&`, `${target}?`, `${target}?limit=3`, target.replace('?', '?x&')])
    if (!/^[^?]*\??$/.test(each) && each !== target)
      yield [`the query ${each}`, { ...request, target: each }]
  if (body.length > 0) {
    const flipped = Buffer.from(body)
    flipped[body.length - 1] = 0
    yield ['a byte of the body', { ...request, body: flipped }]
    yield ['a longer body', { ...request, body: Buffer.concat([body, Buffer.from('x')]) }]
    yield ['no body', { ...request, body: Buffer.alloc(0) }]
    const digest = valueOf(request, 'content-digest').replace(/:./, ':/')
    yield ['another digest', withHeader(request, 'content-digest', digest)]
    yield ['no digest', withHeader(request, 'content-digest', undefined)]
  }
  for (const name of ['signature', 'signature-input', 'x-request-id'])
    yield [`no ${name}`, withHeader(request, name, undefined)]
}

/** What only somebody who has a secret can make, each valid by RFC 9421. */
export function* signedAnew(
  request: Arrived,
  { accepted, others }: Readonly<{ accepted: readonly string[]; others: readonly string[] }>,
): Generator<Case> {
  const { parts, how } = inputOf(request)
  const by = (parts: readonly string[], more = how, secret = accepted[0] ?? '') =>
    signedAs(request, { parts, how: more }, secret)
  const after = (seconds: number) =>
    how.replace(/created=\d+/, `created=${Math.floor(Date.now() / 1000) + seconds}`)
  for (const secret of accepted) yield [`by ${secret}`, by(parts, how, secret), false]
  for (const secret of others) yield [`by ${secret || 'none'}`, by(parts, how, secret)]
  for (const part of parts.filter((each) => each !== 'content-digest'))
    yield [`${part} isn’t covered`, by(parts.filter((each) => each !== part))]
  for (const part of parts) yield [`${part} twice`, by([...parts, part])]
  yield ['another order', by(parts.toReversed())]
  yield ['a part that isn’t there', by([...parts, 'x-caller-tenant'])]
  yield ['another algorithm', by(parts, how.replace('sha256', 'sha512'))]
  yield ['another tag', by(parts, how.replace('tag="tollgate"', 'tag="tollgates"'))]
  yield ['no tag', by(parts, how.replace(';tag="tollgate"', ''))]
  yield ['40 s old', by(parts, after(-40)), false]
  yield ['61 s old', by(parts, after(-61))]
  yield ['from tomorrow', by(parts, after(86_400))]
  const told = withHeader(request, 'X-Caller-Tenant', 'zoo')
  const claimed = signedAs(told, { parts: [...parts, 'x-caller-tenant'], how }, accepted[0] ?? '')
  yield ['a claim that is covered', claimed, false]
  yield ['a claim that was changed', withHeader(claimed, 'X-Caller-Tenant', 'zoos')]
}
