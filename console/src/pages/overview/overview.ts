// The last hour of a node as the server tells it, and what plots and rows are made of it.

export interface Warning {
  id: string
  severity: 'critical' | 'warning' | 'info'
  subject: string
  text: string
  do: string
  doc: string
}

export interface Overview {
  node: string
  version: string
  /** Seconds since 1970, as all times here. */
  started: number
  now: number
  limits: Record<string, number | undefined>
  times: number[]
  /** A value for each of times; a series that never had a value is not there. */
  series: Record<string, (number | null)[] | undefined>
  warnings?: Warning[]
}

/** join adds newer samples to those that are there, and forgets what is older than an hour. */
export function join (before: Overview | undefined, newer: Overview): Overview {
  if (!before || before.node !== newer.node || before.started !== newer.started) return newer
  const last = before.times.at(-1) ?? 0
  const first = newer.times.findIndex(time => time > last)
  const fresh = first < 0 ? [] : newer.times.slice(first)
  const times = [...before.times, ...fresh]
  const drop = times.findIndex(time => time > newer.now - 3600)
  const from = drop < 0 ? times.length : drop
  const names = new Set([...Object.keys(before.series), ...Object.keys(newer.series)])
  const series: Overview['series'] = {}
  for (const name of names) {
    const old = before.series[name] ?? before.times.map(() => null)
    const add = first < 0 ? [] : newer.series[name]?.slice(first) ?? fresh.map(() => null)
    series[name] = [...old, ...add].slice(from)
  }
  return { ...newer, times: times.slice(from), series }
}

/** latest is the newest known value of a series. */
export function latest (overview: Overview, name: string): number | undefined {
  return overview.series[name]?.findLast(value => value !== null) ?? undefined
}

/** daysLeft says how long the volume lasts if it fills as it did in this time; undefined if it does not fill. */
export function daysLeft (overview: Overview): number | undefined {
  const free = overview.series.store_volume_free_bytes
  if (!free || overview.times.length < 6) return undefined
  const first = free.findIndex(value => value !== null)
  const last = free.findLastIndex(value => value !== null)
  if (first < 0 || last <= first) return undefined
  const lost = free[first]! - free[last]!
  const seconds = overview.times[last]! - overview.times[first]!
  return lost <= 0 || seconds < 60 ? undefined : free[last]! / lost * seconds / 86_400
}

/** A row of _active_tasks. */
export interface Task {
  type: string
  pid: string
  node: string
  database?: string
  design_document?: string
  function?: string
  name?: string
  source?: string
  target?: string
  state?: string
  progress?: number
  changes_done?: number
  total_changes?: number
  changes_pending?: number | null
  started_on?: number
  updated_on?: number
}

const KINDS: Record<string, string> = {
  indexer: 'Builds an index', search_indexer: 'Builds a full-text index', replication: 'Replicates',
  database_compaction: 'Compacts', view_compaction: 'Compacts an index'
}

/** kind says what a task does. */
export const kind = (task: Task): string => KINDS[task.type] ?? task.type.replaceAll('_', ' ')

/** subject says what a task works on. */
export function subject (task: Task): string {
  if (task.type === 'replication') return `${task.source ?? ''} → ${task.target ?? ''}`
  return [task.database, task.design_document?.replace(/^_design\//, ''), task.function ?? task.name].filter(Boolean).join(' · ')
}

/** share is how much of a task is done, 0 to 1, if that is known. */
export function share (task: Task): number | undefined {
  if (typeof task.progress === 'number') return Math.min(1, task.progress / 100)
  if (task.total_changes && task.changes_done !== undefined) return Math.min(1, task.changes_done / task.total_changes)
  return undefined
}

/** left is how many milliseconds a task still takes at the speed that it had so far. */
export function left (task: Task, now: number): number | undefined {
  const done = share(task)
  if (!done || done >= 1 || !task.started_on) return undefined
  return (now - task.started_on * 1000) / done * (1 - done)
}

const MOST_ROWS = 6
const ROW = 32 // pixels

/** tall makes an element as high as a list of so many rows, up to six; those of longer lists scroll. */
export const tall = (rows: number) => (element: HTMLElement | null): void => {
  if (element) element.style.height = `${(Math.min(MOST_ROWS, rows) + 1) * ROW + 2}px`
}
