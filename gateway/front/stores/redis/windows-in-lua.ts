import { inADay } from '../../limits/counters-text.ts'
import { briefWindows, steadyWindows, windows, type Window } from '../../../../shared/windows.ts'

/** The position of the first mark in a table of counters: behind what stands before it in their text. */
const firstMark = 6

/**
 * The list of windows for scripts: in its order, the steady and the brief ones, and by name; and the patterns of texts of
 * counters, without and with the marks of brief windows, and of a question.
 */
export const windowsInLua = `local windowNamed = {
${windows.map((window) => `  ${window.name} = ${tableOf(window)},`).join('\n')}
}
local windows, steady, brief = ${[windows, steadyWindows, briefWindows].map(listOf).join(', ')}
local fields = '${patternOf(steadyWindows)}'
local briefFields = '${patternOf([...steadyWindows, ...briefWindows])}'
local asked = '^([^,]+)${windows.map(() => ',([^,]+)').join('')},(%d),([^;]*);([^;]*);(%d+);([^;]*);([^;]*);(.*)$'
`

function tableOf(window: Window): string {
  const { name, lengthMs = 0, comesBack, strikes, at } = window
  const numbers = `lengthMs = ${lengthMs}, inADay = ${inADay(window)}, at = ${firstMark + at}`
  return `{ name = '${name}', ${numbers}, comesBack = ${comesBack}, strikes = ${strikes} }`
}

function listOf(some: readonly Window[]): string {
  return `{ ${some.map(({ name }) => `windowNamed.${name}`).join(', ')} }`
}

function patternOf(some: readonly Window[]): string {
  const marks = some.map(() => ',(%-?%d+),(%-?%d+),(%d+)')
  return `^(%d+)(),(%d+),(%d+),(%d+)${marks.join('')}()(,?k?)$`
}
