import type { Registry } from 'prom-client'
import type { Target } from '../../../front/forwarding/target.ts'
import { answerClasses } from '../../../front/counts/meters.ts'
import type { OperatedGateway } from '../../office.ts'
import { counter, gauge, histogram } from './series.ts'

export function addUpstreams(registry: Registry, gateway: OperatedGateway): void {
  // Only targets of the configuration in force: a removed target leaves the metrics at once.
  function* targets(): Generator<readonly [string, Target]> {
    for (const [upstream, settings] of gateway.config.upstreams) {
      for (const target of gateway.front.upstreams.see(settings)?.targets ?? []) {
        yield [upstream, target]
      }
    }
  }
  histogram(registry, 'tollgate_upstream_duration_seconds', {
    help: 'From sending a request on to the first byte of its answer, or its failure',
    labels: ['upstream', 'target'],
    *read() {
      for (const [upstream, { origin, meter }] of targets()) {
        yield [meter.durations, upstream, origin]
      }
    },
  })
  counter(registry, 'tollgate_upstream_answers_total', {
    help: 'Answers of targets by the class of their status; none: a request that got no answer',
    labels: ['upstream', 'target', 'class'],
    *read() {
      for (const [upstream, { origin, meter }] of targets()) {
        for (const [i, name] of answerClasses.entries()) {
          yield [meter.answers[i] ?? 0, upstream, origin, name]
        }
      }
    },
  })
  gauge(registry, 'tollgate_upstream_healthy', {
    help: 'Whether a target is fit to be asked',
    labels: ['upstream', 'target'],
    aggregator: 'min',
    *read() {
      for (const [upstream, target] of targets()) {
        yield [target.isFit ? 1 : 0, upstream, target.origin]
      }
    },
  })
  gauge(registry, 'tollgate_swap_step', {
    help: 'The step of the swap of an upstream, from 1; 0 before it begins and after it went back',
    labels: ['upstream'],
    aggregator: 'max',
    *read() {
      for (const [upstream, settings] of gateway.config.upstreams) {
        const swap = gateway.front.swaps.see(settings)
        if (swap) yield [swap.stepInForce + 1, upstream]
      }
    },
  })
}
