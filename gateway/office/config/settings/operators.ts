import { askingProxies } from '../../../front/config/asking.ts'
import { noticeWords } from '../../../front/records/notice-types.ts'
import { roles } from '../../../../shared/role.ts'
import { Type, withOptions } from '../../../../shared/schema.ts'
import { collectorForm, collectorPattern, isCollector } from '../../../../shared/spans/collector.ts'
import { optional, required, section } from './setting.ts'
import { listeningTls, purposeOfListeningTls } from './tls.ts'
import { headerName, oneOf, port, ranges, share, spelled, text, yesOrNo } from './values.ts'

const hostName = spelled(
  '^[\\w-]+(?:\\.[\\w-]+)*$',
  'a name such as gateway.internal, without a port',
)
/** Where notices go. */
const webhook = Type.Refine(spelled('^https?://\\S+$', 'an https URL'), (value) =>
  URL.canParse(value),
)
const noticeWord = Type.Enum([...noticeWords], {
  expected: 'an event such as key.banned, or a group such as key.*',
})
/** A share that may be nothing, also without its percent sign. */
const sample = Type.Union([share, Type.Literal(0)], {
  expected: 'a share such as 5% or 0.5%, up to 100%, or 0',
})
/** Where spans are sent. An empty text is nowhere. */
const collector = Type.Refine(
  spelled(`^$|${collectorPattern}`, collectorForm),
  (value) => value === '' || isCollector(value),
)

/** Headers that everybody writes, or that say something else. */
const notForNames = ['authorization', 'cookie', 'host', 'x-console-secret', 'x-forwarded-for']

const trust = section({
  from: required(
    withOptions(ranges, { minItems: 1 }),
    'The addresses of the proxies, by their sockets. From elsewhere the header is nothing.',
  ),
  header: required(
    Type.Refine(
      withOptions(headerName, {
        expected:
          'the name of a header, such as X-Forwarded-User, but none of Authorization, Cookie, Host, X-Console-Secret and X-Forwarded-For',
      }),
      (name) => !notForNames.includes(name.toLowerCase()),
    ),
    'The header in which the proxy says who it is.',
  ),
  roles: required(
    Type.Record(Type.String(), oneOf(...roles), {
      expected: 'roles by name, such as { sam@example.com: all }',
    }),
    "The roles of operators by name; '*' stands for all others.",
  ),
})

export const admin = section({
  host: optional(
    text,
    'The address to listen on for operators. If other machines can reach it, ADMIN_TOKEN or trust is required.',
    '127.0.0.1',
  ),
  port: optional(port, 'The port for operators; 0 is any free port.', 8081),
  tls: optional(listeningTls, purposeOfListeningTls),
  hosts: optional(
    Type.Array(hostName, { expected: 'a list of names without ports' }),
    'Host names that requests to the admin address may use besides localhost and IP addresses: those to the console always, all others while only this machine can reach it.',
    [],
  ),
  trust: optional(
    trust,
    'An authenticating proxy that says which operator a request is from. With it, ADMIN_TOKEN is needed nowhere.',
  ),
  save: optional(
    yesOrNo,
    'Whether operators may read and save this file over the admin API and the console. The file’s secrets can be read then by every token without a role. Without it: true with an embedded store and an admin.host that only this machine reaches, else false.',
  ),
})

export const decide = section({
  host: optional(
    text,
    'The address to listen on for the proxy that asks. If other machines can reach it, token is needed.',
    '127.0.0.1',
  ),
  port: required(port, 'The port for the proxy that asks; 0 is any free port.'),
  for: required(
    oneOf(...askingProxies),
    'The proxy that asks, which decides where it says what it asks about, and in which form it is refused.',
  ),
  token: optional(
    spelled('^[!-~]{16,}$', 'a text of at least 16 letters, digits and signs, without spaces'),
    'The text that the proxy sends as X-Decide-Token; with another one there is no decision.',
  ),
  tls: optional(listeningTls, purposeOfListeningTls),
})

export const notices = Type.Array(
  section({
    to: required(webhook, 'The URL that gets them; http for this machine only.'),
    secret: required(
      text,
      'The key that signs them; two with a comma between them while it is changed. whsec_ marks one in base64.',
    ),
    about: optional(
      Type.Array(noticeWord, { minItems: 1, expected: 'a list of events' }),
      'The events to tell; without it, all.',
      ['*'],
    ),
    allow: optional(
      ranges,
      'The addresses outside the internet that the URL may lead to. This machine by its own name is always allowed.',
      [],
    ),
  }),
  { expected: 'a list of { to: ..., secret: ... }' },
)

export const traces = section({
  to: optional(
    collector,
    'The collector that spans are sent to, as OTLP over HTTP in JSON; if empty, none are made.',
    '',
  ),
  sample: optional(
    sample,
    'The share of requests without a traceparent that get spans; 0 makes none at all, whatever callers send.',
    '5%',
  ),
})
