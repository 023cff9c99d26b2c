import { withCommas } from '../../../../shared/commas.ts'
import { timeText } from '../../../../shared/times.ts'
import { windowNames, type WindowName } from '../../../../shared/windows.ts'
import type {
  AgreementView,
  OutcomesView,
  SimulationView,
} from '../../foresight/replay/simulation-view.ts'
import { aligned } from '../table.ts'

/** A simulation and the names of its files. */
export type Simulated = SimulationView & Readonly<{ config: string; against: string | null }>

/** A simulation for people: what was read, whether it agrees with the log, the plans, the keys. */
export function simulationText(simulated: Simulated): string {
  const { config, against, agrees, plans, keys, refusedKeys, unsaid } = simulated
  if (plans.length === 0) return `${summary(simulated)}\n\n${unsaid.join('\n')}`
  const names = against === null ? [] : [`Numbers are of ${against} → ${config}.`]
  const shown = windowNames.filter((name) => plans[0]?.config.refused[name] !== undefined)
  const heads = headsOf(shown)
  const planRows = plans.map(({ plan, ...sides }) => [plan, ...cells(sides, shown)])
  const keyRows = keys.map(({ key, name, account, plan, ...sides }) => [
    key,
    name ?? '',
    account ?? '',
    plan,
    ...cells(sides, shown),
  ])
  const more = refusedKeys - keys.length
  return [
    [
      summary(simulated),
      ...agreementText(config, agrees.config),
      ...(against === null ? [] : agreementText(against, agrees.against)),
      ...names,
    ].join('\n'),
    aligned([['PLAN', ...heads], ...planRows]),
    keys.length === 0
      ? 'No key is refused.'
      : aligned([['ID', 'NAME', 'ACCOUNT', 'PLAN', ...heads], ...keyRows]) +
        (more > 0 ? `\n… and ${withCommas(more)} more` : ''),
    unsaid.join('\n'),
  ].join('\n\n')
}

function headsOf(shown: readonly WindowName[]): string[] {
  const refused = [...shown, 'ban'].map((name) => `BY ${name.toUpperCase()}`)
  return ['ADMITTED', ...refused, '403', 'BANS', 'FIRST REFUSAL']
}

function summary({ lines, requests, allKeys, leftOut, from, to }: Simulated): string {
  const time = from && to ? `, ${when(from)} to ${when(to)}` : ''
  const { keyless, free } = leftOut
  return (
    `${withCommas(lines)} lines, ${withCommas(requests)} requests of ${withCommas(allKeys)} keys${time}; ` +
    `${withCommas(keyless)} without a key, ${withCommas(free)} that cost nothing.`
  )
}

function agreementText(file: string, agreement: AgreementView): string[] {
  if (!agreement) return []
  const { of, same, first } = agreement
  // Rounded down: 100 % means all.
  const percent = Math.floor((same / of) * 10_000) / 100
  const sentence = `${file} agrees with ${percent} % of what was logged (${withCommas(same)} of ${withCommas(of)})`
  if (!first) return [`${sentence}.`]
  const { key, at, logged, replayed } = first
  return [
    `${sentence}; first not with ${key} at ${when(at)}: logged ${logged}, replayed ${replayed}.`,
  ]
}

/** The outcomes in both files, such as `900 → 800` where they differ. */
function cells(
  { config, against }: Readonly<{ config: OutcomesView; against: OutcomesView | null }>,
  shown: readonly WindowName[],
): string[] {
  const after = outcomeCells(config, shown)
  const before = against && outcomeCells(against, shown)
  return after.map((cell, i) => {
    const former = before?.[i] ?? cell
    return former === cell ? cell : `${former || '-'} → ${cell || '-'}`
  })
}

function outcomeCells(
  { admitted, refused, bans, firstRefusal }: OutcomesView,
  shown: readonly WindowName[],
): string[] {
  const { ban, forbidden } = refused
  const byWindow = shown.map((name) => refused[name] ?? 0)
  const numbers = [admitted, ...byWindow, ban, forbidden, bans].map(withCommas)
  return [...numbers, firstRefusal === null ? '' : when(firstRefusal)]
}

function when(iso: string): string {
  return timeText(Date.parse(iso))
}
