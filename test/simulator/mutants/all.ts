import type { Fault } from './fault.ts'
import { faultsOfGateways } from './of-gateways.ts'
import { faultsOfPurses } from './of-purses.ts'
import { faultsOfScripts } from './of-scripts.ts'
import { faultsOfTheStep } from './of-the-step.ts'

export const faults: readonly Fault[] = [
  ...faultsOfGateways,
  ...faultsOfTheStep,
  ...faultsOfScripts,
  ...faultsOfPurses,
]
