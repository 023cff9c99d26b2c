import { printable } from '../../../../shared/printable.ts'
import { endText } from '../../../../shared/times.ts'
import { banView } from '../../../front/limits/views.ts'
import { banTime } from '../kinds.ts'
import { operation } from '../operation.ts'
import { oneKey, textOf } from '../parameters.ts'

export const setBan = operation({
  name: 'bans set',
  at: ['PUT /admin/bans/{id}'],
  summary: 'Ban a key from now on, in place of its active ban',
  parameters: {
    key: oneKey,
    for: { kind: banTime, value: 'DURATION', help: 'how long', isRequired: true },
    note: textOf('TEXT', 'the reason, for other operators'),
  },
  changes: true,
  role: 'all',
  run: ({ desks }, { key, for: forMs, note }) => desks().quotas.ban(key.id, forMs, note),
  json: banView,
  text: ({ key, name, untilMs }, { clock }) =>
    `The key ${key} (${printable(name)}) is banned until ${endText(untilMs, clock())}.`,
})
