import type { Fault } from './fault.ts'

/** What has found a fault: the simulator by one of its laws, or a contract by one of its claims. */
export type Found = Readonly<{ by: 'simulator' | 'contract'; law: string }>

export type Result = Readonly<{ fault: Fault; foundBy: Found | undefined }>

/** The text of test/mutants.md. */
export function tableOf(results: readonly Result[]): string {
  const countOf = (by?: Found['by']): number =>
    results.filter(({ foundBy }) => foundBy && (!by || foundBy.by === by)).length
  const rows = results.map(({ fault, foundBy }) =>
    [
      fault.name,
      `\`${fault.file.replace(/^gateway\/front\//, '')}\``,
      fault.undoes ? `\`${fault.undoes}\`` : '',
      foundBy?.by ?? '**nothing**',
      foundBy?.law ?? '',
    ].join(' | '),
  )
  return `# Faults, and what finds them

Faults that were put into the protocol of counting one at a time, each in a copy of the tree: the simulator ran, and where it found nothing,
the contracts of the store. Of ${results.length} faults ${countOf()} were found, ${countOf('simulator')} by the simulator and ${countOf('contract')} by the contracts.

\`node test/simulator/mutants/run.ts\` makes this table; the faults are in [\`simulator/mutants/\`](simulator/mutants). "Undoes" names the commit that
mended a fault of this kind.

| fault | in | undoes | found by | law or claim |
| --- | --- | --- | --- | --- |
${rows.map((row) => `| ${row} |`).join('\n')}
`
}
