import { pointersIn } from '../../../front/limits/answer-cost.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

const [mostMembers, mostPointers] = [10, 20]

/** Costs that answers tell: how many numbers of a body are read, and what is usual where nothing is told. */
export function* answerCostRemarks({ file }: Checked): Generator<Remark> {
  for (const [i, { cost } = {}] of (file.routes ?? []).entries()) {
    if (typeof cost !== 'object' || typeof cost.from !== 'object') continue
    const { json, times } = cost.from
    if (json === undefined) continue
    const at = ['routes', i, 'cost', 'from', 'json'] as const
    const members = typeof json === 'object' ? Object.keys(json) : []
    const count = members.flatMap(pointersIn).length
    if (members.length > mostMembers || count > mostPointers) {
      const most = `at most ${mostMembers} with ${mostPointers} pointers are allowed`
      yield mistake(at, `has ${members.length} members with ${count} pointers; ${most}`)
    }
    if (members.length > 0 && times !== undefined) {
      const sentence = 'is for one pointer: beside several, write each one’s weight'
      yield mistake(['routes', i, 'cost', 'from', 'times'], sentence)
    }
    const { estimate, atMost, untold = 'estimate', left = 'passed', drain } = cost
    if (estimate === undefined || atMost === undefined || atMost <= 10 * estimate) continue
    const mayCost = `may cost ${atMost}, and ${estimate}`
    if (untold === 'estimate') {
      const sentence = `${mayCost} where nothing is told, as in a stream that is asked for without its usage: untold: atMost ends that`
      yield warning(['routes', i, 'cost'], sentence)
    }
    if (left === 'passed' && drain === undefined) {
      const sentence = `${mayCost} or what was passed on where its caller leaves early: drain reads on then, and left: atMost takes the most`
      yield warning(['routes', i, 'cost'], sentence)
    }
  }
}
