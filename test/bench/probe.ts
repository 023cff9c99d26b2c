import { openSync, readSync } from 'node:fs'
import { constants, monitorEventLoopDelay, performance, PerformanceObserver } from 'node:perf_hooks'

// Brought into a measured process by --import: observes its loop, and tells its parent who asks.

/** Observations since the last question. */
export type Observation = Readonly<{
  /** The worst stall of the loop in each quarter of a second. */
  stallsMs: readonly number[]
  /** The loop's longest piece of work in each, in CPU time: time that others on the machine take isn't in it. */
  piecesMs: readonly number[]
  /** Full collections, and how long each stopped the process. */
  fullCollectionsMs: readonly number[]
  /** For how long the loop had something to do. */
  loopMs: number
  /** CPU time of all threads. */
  cpuMs: number
}>

const resolutionMs = 1
const sliceMs = 250

const delay = monitorEventLoopDelay({ resolution: resolutionMs })
let stallsMs: number[] = []
let piecesMs: number[] = []
let pieceMs = 0
let fullCollectionsMs: number[] = []
let loop = performance.eventLoopUtilization()
let cpu = process.cpuUsage()

function endSlice(): void {
  // The delay is the time between two looks, which are a millisecond apart when nothing is in the way.
  stallsMs.push(Math.max(0, delay.max / 1e6 - resolutionMs))
  delay.reset()
  piecesMs.push(pieceMs)
  pieceMs = 0
}

const schedule = openSync('/proc/thread-self/schedstat', 'r')
const text = Buffer.alloc(64)

/** The CPU time of the loop's thread, as the scheduler counts it. */
function workMs(): number {
  const length = readSync(schedule, text, 0, text.length, 0)
  return Number.parseInt(text.toString('latin1', 0, length)) / 1e6
}

let worked = workMs()

/** Looks as often as the loop comes round to it: a longer piece of work lies between two looks. */
function look(): void {
  const now = workMs()
  pieceMs = Math.max(pieceMs, now - worked)
  worked = now
}

delay.enable()
setInterval(look, resolutionMs).unref()
setInterval(endSlice, sliceMs).unref()
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { kind } = 'detail' in entry ? (entry.detail as { kind: number }) : { kind: 0 }
    if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollectionsMs.push(entry.duration)
  }
}).observe({ entryTypes: ['gc'] })

process.on('message', (question) => {
  if (question !== 'observe') return
  endSlice()
  const loopMs = performance.eventLoopUtilization(loop).active
  const { user, system } = process.cpuUsage(cpu)
  const cpuMs = (user + system) / 1_000
  process.send?.({ observed: { stallsMs, piecesMs, fullCollectionsMs, loopMs, cpuMs } })
  stallsMs = []
  piecesMs = []
  fullCollectionsMs = []
  loop = performance.eventLoopUtilization()
  cpu = process.cpuUsage()
})
