// What the server answers to a query, as rows and columns.
import type { Kind } from './kinds'

export interface Stats {
  total_keys_examined: number
  total_docs_examined: number
  results_returned: number
  execution_time_ms: number
}

export interface Row {
  /** The document that the row is of, if it is of one. */
  id: string | undefined
  cells: Record<string, unknown>
}

/** A page of rows. */
export interface Rows {
  rows: Row[]
  bookmark: string | undefined
  /** How many there are in all, if the server says it. */
  total: number | undefined
  warning: string | undefined
  stats: Stats | undefined
}

type Members = Record<string, unknown>

interface Answer {
  docs?: Members[]
  rows?: Members[]
  hits?: Members[]
  groups?: Members[]
  values?: { value: unknown, count: number }[]
  bookmark?: string | null
  count?: number
  total_rows?: number
  total_hits?: number
  warning?: string
  execution_stats?: Stats
}

/** rowsOf reads the answer of a query. body is what was asked, whose groups name the columns. */
export function rowsOf (kind: Kind, body: Members, answer: Answer): Rows {
  const rows = ROWS[kind](answer, body)
  const bookmark = answer.bookmark && answer.bookmark !== 'nil' && rows.length > 0 ? answer.bookmark : undefined
  return {
    rows, bookmark, total: answer.count ?? answer.total_hits ?? (kind === 'search' || kind === 'view' ? answer.total_rows : undefined),
    warning: answer.warning, stats: answer.execution_stats
  }
}

const textOf = (value: unknown) => typeof value === 'string' ? value : undefined

const ROWS: Record<Kind, (answer: Answer, body: Members) => Row[]> = {
  mango: ({ docs = [] }) => docs.map(({ _rev, ...doc }) => ({ id: textOf(doc._id), cells: doc })),
  view: ({ rows = [] }) => rows.map(({ id, ...rest }) => ({ id: textOf(id), cells: id === undefined ? rest : { id, ...rest } })),
  search: ({ rows, hits, groups }) => (rows ?? hits ?? (groups ?? []).flatMap(group => (group.rows ?? group.hits ?? []) as Members[]))
    .map(hit => ({
      id: textOf(hit.id),
      cells: { id: hit.id, score: scoreOf(hit.order), ...hit.fields as Members, ...(hit.doc ? { doc: hit.doc } : {}) }
    })),
  aggregate: ({ groups = [] }, body) => groups.map(({ key, ...values }) => ({ id: undefined, cells: { ...keyOf(key, body), ...values } })),
  distinct: ({ values = [] }) => values.map(one => ({ id: undefined, cells: { ...one } }))
}

// scoreOf is the first number that hits are ordered by.
function scoreOf (order: unknown): unknown {
  const first: unknown = Array.isArray(order) ? order[0] : undefined
  return typeof first === 'object' && first !== null && 'value' in first ? first.value : first
}

// keyOf gives the parts of a group's key the names of the fields that it is grouped by.
function keyOf (key: unknown, body: Members): Members {
  const by = Array.isArray(body.group_by) ? body.group_by as (string | { field?: string })[] : []
  return Object.fromEntries((key as unknown[]).map((part, i) => {
    const one = by[i]
    return [(typeof one === 'string' ? one : one?.field) ?? `key ${i}`, part]
  }))
}

/** columnsOf are the members that rows have, those of most rows first, and how many are left out beyond the most. */
export function columnsOf (rows: Row[], most = 10): { columns: string[], left: number } {
  const counts = new Map<string, number>()
  for (const { cells } of rows.slice(0, 200)) for (const name of Object.keys(cells)) counts.set(name, (counts.get(name) ?? 0) + 1)
  const first = [...counts].sort((a, b) => b[1] - a[1]).slice(0, most).map(([name]) => name)
  const columns = [...counts.keys()].filter(name => first.includes(name))
  return { columns, left: counts.size - columns.length }
}

/** cellText is a value as a cell of a table shows it: texts as they are, everything else as JSON. */
export function cellText (value: unknown): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
}

/** numericOf are the columns whose values are numbers in all rows that have them. */
export function numericOf (rows: Row[], columns: string[]): string[] {
  return columns.filter(name => {
    const values = rows.map(row => row.cells[name]).filter(value => value !== undefined && value !== null)
    return values.length > 0 && values.every(value => typeof value === 'number')
  })
}
