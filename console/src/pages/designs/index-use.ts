// When queries used an index last: GET /db/_index_use.
import type { IndexEntry, IndexKind } from './indexes'

/** What is known of a design document. Times are to the hour. */
export interface Use {
  ddoc: string
  changed?: string
  indexes: { type: string, name: string, last_used: string }[]
}

/** IndexUse is the last use of an index, or if there was none when its design document was written. */
export interface IndexUse {
  at: number
  used: boolean
  /** Nobody has used it for so long that it may go. */
  idle: boolean
}

const IDLE = 30 * 86_400_000

// What an index is called there: Mango's of JSON are views, its texts are what they are made of.
const TYPES: Partial<Record<IndexKind, string>> = { json: 'view', text: 'search' }

/** useOf is what is known of the use of an index; undefined where nothing is. */
export function useOf (known: Use | undefined, entry: IndexEntry, now = Date.now()): IndexUse | undefined {
  const type = entry.mango?.type === 'nouveau' ? 'nouveau' : TYPES[entry.kind] ?? entry.kind
  const last = known?.indexes.find(one => one.type === type && one.name === entry.name)?.last_used
  const since = last ?? known?.changed
  if (since === undefined) return undefined
  const at = Date.parse(since)
  return { at, used: last !== undefined, idle: now - at >= IDLE }
}
