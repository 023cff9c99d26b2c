import { Type } from '../../../../shared/schema.ts'
import { optional, required, section } from './setting.ts'
import { collector, hostName, noticeWord, port, sample, text, webhook, yesOrNo } from './values.ts'

export const admin = section({
  host: optional(
    text,
    'The address to listen on for operators. If other machines can reach it, ADMIN_TOKEN is required.',
    '127.0.0.1',
  ),
  port: optional(port, 'The port for operators; 0 is any free port.', 8081),
  hosts: optional(
    Type.Array(hostName, { expected: 'a list of names without ports' }),
    'Host names that requests to the admin address may use besides localhost and IP addresses: those to the console always, all others while only this machine can reach it.',
    [],
  ),
  save: optional(
    yesOrNo,
    'Whether operators may read and save this file over the admin API and the console. The file’s secrets can be read then by every token without a role.',
    false,
  ),
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
      Type.Array(text, { expected: 'a list of addresses or CIDR ranges' }),
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
