// The list of documents: read in parts as it scrolls, and kept as the database changes.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { follow, type Change } from '../../api'
import { useLatest, useLoad } from '../../use'
import { indexFor, PAGE, readChunk, readInfo, readNow, type Chunk } from './store'
import type { Filter, Row } from './types'

const TOGETHER = 300 // milliseconds in which changes are gathered before their documents are read
const FRESH = 1000 // milliseconds for which a row is marked as changed

const QUICK = 300 // milliseconds: after an answer that took less, twice as many documents are asked for
const MOST = 1000 // documents that are asked for at once

interface Listed {
  rows: Row[]
  next: string | undefined
  /** How many documents the next part has. */
  limit: number
}

export interface Documents {
  rows: Row[]
  /** Asks for more; undefined at the end. */
  more: (() => void) | undefined
  error: Error | undefined
  busy: boolean
  again: () => void
  /** Ids of rows that have just changed. */
  fresh: ReadonlySet<string>
  /** How many documents came that are not in the list: `again` shows them. */
  unseen: number
  /** Whether changes come in. */
  live: boolean
  /** How long the first part took, in milliseconds. */
  took: number | undefined
  index: string | undefined
  warning: string | undefined
  /** Puts documents in place that this page has stored. */
  put: (rows: Row[]) => void
}

interface First extends Chunk {
  took: number
  index: string | undefined
}

async function readFirst (db: string, filter: Filter, signal: AbortSignal): Promise<First> {
  const begin = performance.now()
  const chunk = await readChunk(db, filter, undefined, signal)
  const took = performance.now() - begin
  const index = filter.kind === 'selector' ? await indexFor(db, filter.selector, signal) : undefined
  return { ...chunk, took, index }
}

// placed puts rows where they stand in the list already, and the others behind its end.
function placed (list: Row[], changed: Row[]): Row[] {
  const newer = new Map(changed.map(row => [row.id, row]))
  const next = list.map(row => {
    const now = newer.get(row.id)
    newer.delete(row.id)
    return now ?? row
  })
  return [...next, ...[...newer.values()].filter(row => !row.gone).sort((a, b) => a.id < b.id ? -1 : 1)]
}

/** useDocuments reads the documents that a filter takes, in parts, and keeps them as the database changes. */
export function useDocuments (db: string, filter: Filter): Documents {
  const first = useLoad(signal => readFirst(db, filter, signal), [db, JSON.stringify(filter)])
  const [list, setList] = useState<Listed>({ rows: [], next: undefined, limit: PAGE })
  const [unseen, setUnseen] = useState<ReadonlySet<string>>(new Set())
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const current = useRef(first.value)
  if (current.current !== first.value) {
    current.current = first.value
    setList({ rows: first.value?.rows ?? [], next: first.value?.next, limit: PAGE })
    setUnseen(new Set())
  }
  const asking = useRef(false)
  const more = useCallback(() => {
    if (asking.current || list.next === undefined) return
    asking.current = true
    const of = current.current
    const begin = performance.now()
    readChunk(db, filter, list.next, undefined, list.limit)
      .then(chunk => {
        if (of !== current.current) return
        const limit = performance.now() - begin < QUICK ? Math.min(MOST, list.limit * 2) : Math.max(PAGE, list.limit / 2)
        setList(before => ({ rows: before.rows.concat(chunk.rows), next: chunk.next, limit }))
      }, () => {})
      .finally(() => { asking.current = false })
  }, [list])
  const put = useLatest((rows: Row[]) => {
    setList(before => ({ ...before, rows: placed(before.rows, rows) }))
    setFresh(new Set(rows.map(row => row.id)))
  })
  // Where a document that is not in the list would stand: behind its end it can be shown, for nothing moves there.
  const fits = useLatest((id: string) => filter.kind !== 'selector' && list.next === undefined && first.value !== undefined &&
    id > (list.rows.at(-1)?.id ?? '') && (filter.kind === 'all' || id.startsWith(filter.prefix)))
  const others = useLatest((changes: Change[]) => {
    const next = new Set(unseen)
    for (const { id, deleted } of changes) {
      if (deleted) next.delete(id)
      else if (filter.kind !== 'prefix' || id.startsWith(filter.prefix)) next.add(id)
    }
    setUnseen(next)
  })
  useEffect(() => {
    if (fresh.size === 0) return
    const timer = setTimeout(() => setFresh(new Set()), FRESH)
    return () => clearTimeout(timer)
  }, [fresh])
  const known = useLatest(() => list.rows)
  const live = useChanges(db, { known, fits, put, others })
  return {
    rows: list.rows, more: list.next === undefined ? undefined : more, error: first.error, busy: first.busy, again: first.again,
    fresh, unseen: unseen.size, live, put, took: first.value?.took, index: first.value?.index, warning: first.value?.warning
  }
}

interface Listener {
  known: () => Row[]
  fits: (id: string) => boolean
  put: (rows: Row[]) => void
  others: (changes: Change[]) => void
}

// useChanges reads the documents that change and are in the list, or fit behind it; true while the feed is open.
function useChanges (db: string, { known, fits, put, others }: Listener): boolean {
  const [live, setLive] = useState(false)
  useEffect(() => {
    const stop = new AbortController()
    const waiting = new Map<string, Change>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      timer = undefined
      const there = new Map(known().map(row => [row.id, row.rev]))
      const changes = [...waiting.values()].filter(change => there.get(change.id) !== change.changes[0]!.rev)
      waiting.clear()
      const shown = (change: Change) => there.has(change.id) || fits(change.id)
      const rows = changes.filter(change => change.deleted && there.has(change.id)).map(tombstone)
      const ids = changes.filter(change => !change.deleted && shown(change)).map(change => change.id)
      for (let at = 0; at < ids.length; at += 1000) rows.push(...(await readNow(db, ids.slice(at, at + 1000), stop.signal)).values())
      if (stop.signal.aborted) return
      if (rows.length > 0) put(rows)
      const rest = changes.filter(change => !shown(change))
      if (rest.length > 0) others(rest)
    }
    const each = (changes: Change[]) => {
      for (const change of changes) waiting.set(change.id, change)
      timer ??= setTimeout(() => { read().catch(() => {}) }, TOGETHER)
    }
    readInfo(db, stop.signal).then(info => {
      setLive(true)
      return follow(db, info.update_seq, stop.signal, each)
    }).catch(() => {}).finally(() => { if (!stop.signal.aborted) setLive(false) })
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [db])
  return live
}

function tombstone ({ id, changes }: Change): Row {
  const rev = changes[0]!.rev
  return { id, rev, doc: { _id: id, _rev: rev, _deleted: true }, gone: true }
}
