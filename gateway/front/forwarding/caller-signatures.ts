import { dictionaryIn, type DictionaryMember } from '../../../shared/dictionary.ts'
import { signatureLabel } from '../../../shared/signature.ts'

/** The two fields of a message's signatures (RFC 9421). */
export type Signatures = Readonly<{ input: string; signature: string }>

const ours = new RegExp(`;\\x20*tag="${signatureLabel}"`)

/**
 * A caller's own signatures without those that could be taken for the gateway's: by their name, or by their tag. Both are
 * empty where one can't be read.
 */
export function othersOf({ input, signature }: Signatures): Signatures {
  const [inputs, signatures] = [dictionaryIn(input), dictionaryIn(signature)]
  if (!inputs || !signatures) return { input: '', signature: '' }
  const names = new Set([
    signatureLabel,
    ...[...inputs, ...signatures].filter(({ text }) => ours.test(text)).map(({ name }) => name),
  ])
  const isMeant = (members: readonly DictionaryMember[]) =>
    members.some(({ name }) => names.has(name))
  const others = (members: readonly DictionaryMember[], field: string): string =>
    isMeant(members)
      ? members
          .filter(({ name }) => !names.has(name))
          .map(({ text }) => text)
          .join(', ')
      : field
  return { input: others(inputs, input), signature: others(signatures, signature) }
}
