export const rowNames = ['burst', 'edge', 'burnt', 'waiting', 'headers'] as const
type RowName = (typeof rowNames)[number]

/** Of the requests that were sent, those that were let in, and those that fit; of headers, the answers that tell any. */
export type Sample = Readonly<{
  sent: number
  admitted: number
  due: number
  fault?: string | undefined
}>

export type Samples = Readonly<Record<RowName, Sample[]>>

/** One row: its samples in sum, and in words. */
export type Row = Omit<Sample, 'fault'> &
  Readonly<{ row: RowName; verdict: 'exact' | 'not exact' | 'not tried'; what: string }>

const untried: Record<RowName, string> = {
  burst: 'no window could be told from its neighbours in this time',
  edge: 'no two windows could be told apart in this time',
  burnt: 'no second window came in this time',
  waiting: 'no Retry-After was told, or it didn’t end in this time',
  headers: 'no answer tells this limit',
}

/** The rows of all samples. Where windows slide, none has an edge, and Remaining needn't fall. */
export function rowsOf(samples: Samples, slide: boolean): Row[] {
  return rowNames.map((row) => {
    const sum = sumOf(samples[row])
    const slides = slide && (row === 'edge' || row === 'headers')
    if (slides) return { row, verdict: 'not tried', what: 'the windows slide', ...sum }
    if (sum.sent === 0) return { row, verdict: 'not tried', what: untried[row], ...sum }
    const wrong = samples[row].find(isWrong)
    const fits = `${sum.admitted} of ${sum.sent} let in, ${sum.due} fit`
    const what = wrong?.fault ?? (row === 'headers' ? `${sum.due} answers agree` : fits)
    return { row, verdict: wrong ? 'not exact' : 'exact', what, ...sum }
  })
}

export function isWrong({ admitted, due, fault }: Sample): boolean {
  return admitted !== due || fault !== undefined
}

export function sumOf(samples: readonly Sample[]): Sample {
  const of = (name: 'sent' | 'admitted' | 'due'): number =>
    samples.reduce((sum, each) => sum + each[name], 0)
  return { sent: of('sent'), admitted: of('admitted'), due: of('due') }
}
