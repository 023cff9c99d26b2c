/** A member of a dictionary: its name, and its text as it is written, which begins with the name. */
export type DictionaryMember = Readonly<{ name: string; text: string }>

// RFC 9651: a key, an item without its parameters, and the parameters.
const key = '[a-z*][a-z0-9_.*-]*'
const bare = [
  '-?\\d{1,15}(?:\\.\\d{1,3})?',
  '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*"',
  "[A-Za-z*][\\w!#$%&'*+.^`|~:/-]*",
  ':[A-Za-z0-9+/=]*:',
  '\\?[01]',
  '@-?\\d{1,15}',
  '%"(?:[\\x20\\x21\\x23\\x24\\x26-\\x7e]|%[0-9a-f]{2})*"',
].join('|')
const parameters = `(?:;\\x20*${key}(?:=(?:${bare}))?)*`
// One space at a time: with runs of them, a text without an end would be read once for each of its spaces.
const inner = `\\((?:\\x20|(?:${bare})${parameters}(?=[\\x20)]))*\\)`
const member = new RegExp(`(${key})(?:=(?:${inner}|${bare}))?${parameters}`, 'y')
const comma = /[ \t]*,[ \t]*(?!$)/y

/** The members of a dictionary of structured fields (RFC 9651, 3.2), in their order; `undefined` if the text isn't one. */
export function dictionaryIn(field: string): readonly DictionaryMember[] | undefined {
  const text = field.trim()
  const members: DictionaryMember[] = []
  for (let at = 0; at < text.length; at = comma.lastIndex) {
    member.lastIndex = at
    const found = member.exec(text)
    if (!found) return undefined
    members.push({ name: found[1] ?? '', text: found[0] })
    if (member.lastIndex === text.length) break
    comma.lastIndex = member.lastIndex
    if (!comma.test(text)) return undefined
  }
  return members
}

/** The text of a member behind its `=`; of several with a name, the last one counts. */
export function memberOf(field: string, name: string): string | undefined {
  const found = dictionaryIn(field)?.findLast((each) => each.name === name)
  return found?.text.slice(name.length + 1)
}
