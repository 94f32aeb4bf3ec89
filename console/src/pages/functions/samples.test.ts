import { test } from 'node:test'
import assert from 'node:assert/strict'
import { between, totals } from './samples'

test('rates and percentiles are of what came between two samples', () => {
  const a = totals({ execution_stats: { num_processed_events: 10 }, latency_stats: { 1000: 5 } }, 1000)
  const b = totals({
    execution_stats: { num_processed_events: 30 }, events_remaining: { dcp_backlog: 7 }, latency_stats: { 1000: 14, 9000: 1 }
  }, 3000)
  const point = between(a, b)
  assert.deepEqual([point.time, point.events, point.backlog, point.p50, point.p99], [3, 10, 7, 1, 9])
})

test('counters that went back count from 0', () => {
  const a = totals({ execution_stats: { num_processed_events: 100 }, latency_stats: { 1000: 100 } }, 0)
  const b = totals({ execution_stats: { num_processed_events: 4 }, latency_stats: { 2000: 4 } }, 2000)
  assert.deepEqual([between(a, b).events, between(a, b).p95], [2, 2])
})
