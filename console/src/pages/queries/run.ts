// Running a query: one at a time, cancelled by the next or by the user.
import { useRef, useState } from 'preact/hooks'
import { ask, get, path, post } from '../../api'
import { rowsOf, type Row, type Rows, type Stats } from './answer'
import type { Explained } from './explain'
import { requestOf } from './request'
import type { Query } from './kinds'

/** What a run has given so far. */
export interface Run {
  query: Query
  body: Record<string, unknown>
  /** The rows of all pages that were read. */
  rows: Row[]
  /** The newest page, and the text of its answer. */
  page: Rows
  answer: unknown
  ms: number
  pages: number
  explained?: Explained
  explainError?: Error
  documents?: number
  /** The statistics of the same query when it was run before. */
  before?: Stats | undefined
}

/** useRun runs queries and keeps the last run. done is told of each that has ended well. */
export function useRun (done: (run: Run) => void) {
  const [run, setRun] = useState<Run>()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const stop = useRef<AbortController>(undefined)

  const ask_ = async (query: Query, from?: Run) => {
    stop.current?.abort()
    const mine = stop.current = new AbortController()
    setBusy(true)
    setError(undefined)
    try {
      const { path: target, body } = requestOf(query, from?.page.bookmark)
      const begun = performance.now()
      const { value } = await ask<Parameters<typeof rowsOf>[2]>(target, { method: 'POST', body, signal: mine.signal })
      const ms = performance.now() - begun
      const page = rowsOf(query.kind, body, value)
      const rows = [...from?.rows ?? [], ...page.rows]
      const next: Run = { ...from, query, body, rows, page, answer: value, ms, pages: (from?.pages ?? 0) + 1 }
      if (!from) Object.assign(next, await explain(query, body, mine.signal))
      if (mine.signal.aborted) return
      setRun(before => !from && before?.pages === 1 && before.query.text === query.text && before.query.db === query.db ? { ...next, before: before.page.stats } : next)
      if (!from) done(next)
    } catch (e) {
      if (!mine.signal.aborted) setError(e as Error)
    } finally {
      if (stop.current === mine) setBusy(false)
    }
  }
  return {
    run, busy, error,
    start: (query: Query) => { void ask_(query) },
    next: () => { if (run) void ask_(run.query, run) },
    cancel: () => { stop.current?.abort(); setBusy(false) }
  }
}

// explain asks for the plan of queries that have one. What fails here does not fail the query.
async function explain (query: Query, body: Record<string, unknown>, signal: AbortSignal): Promise<Partial<Run>> {
  if (query.kind !== 'mango' && query.kind !== 'aggregate') return {}
  const quiet = { signal, quiet: true }
  const { execution_stats: _, bookmark: __, ...asked } = body
  const [explained, info] = await Promise.allSettled([
    post<Explained>(path`/${query.db}/_explain`, asked, quiet),
    get<{ doc_count: number }>(path`/${query.db}`, undefined, quiet)
  ])
  return {
    ...(explained.status === 'fulfilled' ? { explained: explained.value } : { explainError: explained.reason as Error }),
    ...(info.status === 'fulfilled' && { documents: info.value.doc_count })
  }
}
