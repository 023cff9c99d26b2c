import { printable } from '../../../../shared/printable.ts'
import { timeText } from '../../../../shared/times.ts'
import { fleetView, type FleetView } from '../../fleet/view.ts'
import { ofGateway } from '../operation.ts'
import { aligned } from '../table.ts'

export const listGateways = ofGateway({
  name: 'gateways',
  at: ['GET /admin/gateways'],
  summary: 'List the gateways of the store, and the configurations that they run',
  details:
    'Asks the running gateway. Any gateway of a fleet knows all of them: each reports every second, leaves ' +
    'the list when it stops, and is gone after 5 seconds of silence.',
  parameters: {},
  role: 'read',
  run: async ({ stores }) => fleetView(await stores().fleet.list()),
  text: (view) => [printable(view.summary), '', table(view), ...refusals(view)].join('\n'),
})

function table({ gateways, anotherVersion }: FleetView): string {
  const rows = gateways.map(({ name, version, startedAt, config, store, address }) => [
    name,
    version,
    timeText(Date.parse(startedAt)),
    config?.hash ?? 'its own',
    config ? timeText(Date.parse(config.sinceAt)) : '',
    address ?? '',
    store,
  ])
  const others = Array.from({ length: anotherVersion }, () => ['?', 'another version'])
  const heading = ['NAME', 'VERSION', 'SINCE', 'CONFIG', 'SINCE', 'ADDRESS', 'STORE']
  return aligned([heading, ...rows, ...others])
}

function refusals({ gateways }: FleetView): string[] {
  const sentences = gateways.flatMap(({ name, config }) => {
    if (!config || config.refuses === null) return []
    return printable(`${name} refuses its current file: ${config.refuses}`)
  })
  return sentences.length > 0 ? ['', ...sentences] : []
}
