// The revisions of a document as a tree: which leaf wins, and where each revision stands in the picture.
import type { Doc } from './types'

/** A leaf of the tree with its line of ancestors, the newest first; the leaf itself is the first of them. */
export interface Leaf {
  rev: string
  deleted: boolean
  line: string[]
}

/** What is left of a revision: its body, a tombstone, or nothing but its name. */
export type Kept = 'available' | 'deleted' | 'missing'

/** A revision in the picture: its column is its generation, its row the branch. */
export interface Node {
  rev: string
  parent: string | undefined
  column: number
  row: number
  kept: Kept
  leaf: boolean
  winner: boolean
}

export interface Tree {
  nodes: Node[]
  columns: number
  rows: number
  winner: string | undefined
  /** How many generations before those that are shown are left out. */
  earlier: number
}

interface Revisions {
  start: number
  ids: string[]
}

/** generation is the number before the minus sign of a revision. */
export const generation = (rev: string): number => Number.parseInt(rev, 10)

/** leavesOf reads the answer to open_revs=all&revs=true. */
export function leavesOf (answer: { ok?: Doc }[]): Leaf[] {
  return answer.filter(one => one.ok).map(({ ok }) => {
    const { start, ids } = ok!._revisions as Revisions
    return { rev: ok!._rev as string, deleted: ok!._deleted === true, line: ids.map((id, i) => `${start - i}-${id}`) }
  })
}

// before orders leaves as CouchDB does: documents before tombstones, more generations before fewer, then the greater hash.
function before (a: Leaf, b: Leaf): number {
  if (a.deleted !== b.deleted) return a.deleted ? 1 : -1
  return generation(b.rev) - generation(a.rev) || (a.rev < b.rev ? 1 : a.rev > b.rev ? -1 : 0)
}

/** winnerOf is the leaf that a read without a revision gives. */
export const winnerOf = (leaves: Leaf[]): string | undefined => [...leaves].sort(before)[0]?.rev

/**
 * layout places the revisions: leaves to the right, the winner's line in the first row, each further branch in a row of
 * its own, and of old revisions only the newest generations. What is not in `kept` and is no leaf is missing.
 */
export function layout (leaves: Leaf[], kept: ReadonlyMap<string, Kept>, newest = 60): Tree {
  const sorted = [...leaves].sort(before)
  const winner = sorted[0]?.rev
  const last = Math.max(0, ...sorted.map(leaf => generation(leaf.rev)))
  const oldest = Math.min(...sorted.map(leaf => generation(leaf.line.at(-1)!)))
  const first = Math.max(oldest, last - newest + 1)
  const nodes = new Map<string, Node>()
  sorted.forEach((leaf, row) => {
    for (const [i, rev] of leaf.line.entries()) {
      // A leaf is always shown, however far it is behind the others.
      if (nodes.has(rev) || (i > 0 && generation(rev) < first)) break
      const parent = leaf.line[i + 1]
      nodes.set(rev, {
        rev, row, leaf: i === 0, winner: rev === winner, column: Math.max(0, generation(rev) - first),
        parent: parent !== undefined && generation(parent) >= first ? parent : undefined,
        kept: kept.get(rev) ?? (i > 0 ? 'missing' : leaf.deleted ? 'deleted' : 'available')
      })
    }
  })
  return { nodes: [...nodes.values()], columns: last - first + 1, rows: sorted.length, winner, earlier: first - oldest }
}
