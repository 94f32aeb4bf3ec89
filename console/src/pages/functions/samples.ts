// What plots of a function are made of: rates between two samples of its statistics.
import type { Stats } from './api'

export interface Totals {
  /** Milliseconds. */
  at: number
  backlog: number
  events: number
  timers: number
  failed: number
  timeouts: number
  operations: number
  /** How many took how long: microseconds to numbers. */
  latency: Record<string, number>
}

export interface Point {
  /** Seconds since 1970. */
  time: number
  backlog: number
  events: number
  timers: number
  failed: number
  timeouts: number
  operations: number
  p50: number | null
  p95: number | null
  p99: number | null
}

const sum = (group: Record<string, number> | undefined, ...names: string[]) =>
  names.reduce((total, name) => total + (group?.[name] ?? 0), 0)

/** totals reads a sample of the statistics. */
export function totals (stats: Stats, at: number): Totals {
  const { execution_stats: run, failure_stats: failed } = stats
  return {
    at,
    backlog: stats.events_remaining?.dcp_backlog ?? 0,
    events: sum(run, 'num_processed_events'),
    timers: sum(run, 'timer_msg_counter'),
    failed: sum(run, 'on_update_failure', 'on_delete_failure', 'timer_callback_failure'),
    timeouts: sum(failed, 'timeout_count'),
    operations: sum(failed, 'bucket_op_exception_count', 'n1ql_op_exception_count', 'curl_failure_count'),
    latency: stats.latency_stats ?? {}
  }
}

/** between are the rates a second between two samples. Counters that went back were reset: they count from 0. */
export function between (a: Totals, b: Totals): Point {
  const seconds = Math.max(0.001, (b.at - a.at) / 1000)
  const rate = (name: 'events' | 'timers' | 'failed' | 'timeouts' | 'operations') =>
    Math.max(0, b[name] < a[name] ? b[name] : b[name] - a[name]) / seconds
  return {
    time: b.at / 1000, backlog: b.backlog, events: rate('events'), timers: rate('timers'), failed: rate('failed'),
    timeouts: rate('timeouts'), operations: rate('operations'), ...percentiles(a.latency, b.latency)
  }
}

// percentiles, in milliseconds, of what came to a histogram between two samples; null where nothing did.
function percentiles (before: Record<string, number>, after: Record<string, number>): Pick<Point, 'p50' | 'p95' | 'p99'> {
  const rows = Object.entries(after).map(([us, n]): [number, number] => [Number(us), n - (before[us] ?? 0)])
  const reset = rows.some(([, n]) => n < 0)
  const counts = (reset ? Object.entries(after).map(([us, n]): [number, number] => [Number(us), n]) : rows)
    .filter(([, n]) => n > 0).sort(([a], [b]) => a - b)
  const total = counts.reduce((n, [, count]) => n + count, 0)
  const at = (part: number) => {
    let seen = 0
    const row = counts.find(([, n]) => (seen += n) >= total * part)
    return row ? row[0] / 1000 : null
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
