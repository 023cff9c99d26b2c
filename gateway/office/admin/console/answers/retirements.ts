export type DeprecatedCalls = Readonly<{
  key: string
  name: string
  operation: string
  calls: number
  last: string
  sunset: string | null
  extension: Readonly<{ until: string; spare: boolean }> | null
  needsExtension: boolean
}>

export type CallsOfDay = Readonly<{ operation: string; day: string; calls: number; keys: number }>
