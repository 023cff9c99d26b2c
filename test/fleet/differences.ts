/** Requests that nginx or haproxy refuses and the gateway passes on, by name, and why. */
export const laxer: Readonly<Record<string, string>> = {
  'Host:\ta': 'RFC 9110 takes a tab before a value for white space; nginx refuses it.',
  'Content-Length:\t5': 'The same.',
  'Transfer-Encoding:"\\tchunked"': 'The same.',
  'the header "Expect: x"':
    'What is expected besides 100-continue is not heeded, which RFC 9110 allows; haproxy answers 417.',
  'one behind a refusal':
    'A path that is refused leaves no doubt where its request ends, so the connection goes on; nginx ends it.',
}

/** Requests that both of them pass on and the gateway refuses, by the beginnings of names, and why. */
export const stricter: readonly (readonly [RegExp, string])[] = [
  [/^an odd path: https?:/i, 'A gateway is no forward proxy: a target is a path.'],
  [
    /^an odd path: .*(?:\/\/|\/\.|\\|%2e|%2f|%5c|%25|%[01]|%7f|%c0)/i,
    'A path means one thing only: limits and deprecations go by it.',
  ],
  [/^an odd path: \/V1/, 'Paths differ by the case of their letters.'],
  [/^the line .* HTTP\/1\.2$/, 'There is no such version.'],
  [/^Host:/, 'A Host is a name or an address, with a port at most.'],
  [/^the header ".*(?:\\u0001|\x7f)/, 'No header has a control character in it.'],
  [/^Transfer-Encoding:" C/, 'Exactly chunked, in small letters.'],
  [/^the chunks /, 'A chunk is written in one way; nothing but CRLF ends a line.'],
  [/^one in the body of a GET$/, 'A GET has no body.'],
  [/^line feeds alone$/, 'Nothing but CRLF ends a line.'],
]
