// Many documents at once: deleting those that are marked, and bringing them back.
import { readNow, restore, writeAll } from './store'
import type { Row, Written } from './types'

const TOGETHER = 500 // documents in one request
const BESIDE = 4 // requests at the same time where each has one document

/** Deleted is a document that went, and the revision that brings it back. */
export interface Deleted {
  id: string
  rev: string
  tombstone: string
}

/** deleteAll deletes documents as they are now. It gives those that went, and the errors of the others. */
export async function deleteAll (
  db: string, ids: string[], tell: (done: number) => void
): Promise<{ deleted: Deleted[], failed: Written[] }> {
  const deleted: Deleted[] = []
  const failed: Written[] = []
  for (let at = 0; at < ids.length; at += TOGETHER) {
    const rows = [...(await readNow(db, ids.slice(at, at + TOGETHER))).values()]
    const lines = await writeAll(db, rows.map(({ id, rev }) => ({ _id: id, _rev: rev, _deleted: true })), { quiet: at > 0 })
    lines.forEach((line, i) => {
      if (line.error === undefined) deleted.push({ id: rows[i]!.id, rev: rows[i]!.rev, tombstone: line.rev! })
      else failed.push(line)
    })
    tell(Math.min(ids.length, at + TOGETHER))
  }
  return { deleted, failed }
}

/** gone is how the list shows documents that were deleted. */
export const gone = (deleted: Deleted[]): Row[] =>
  deleted.map(({ id, tombstone }) => ({ id, rev: tombstone, doc: { _id: id, _rev: tombstone, _deleted: true }, gone: true }))

/** restoreAll brings documents back. It gives how many could not be. */
export async function restoreAll (db: string, deleted: Deleted[]): Promise<number> {
  const waiting = [...deleted]
  let failed = 0
  const work = async () => {
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      await restore(db, one.id, one.rev).catch(() => { failed++ })
    }
  }
  await Promise.all(Array.from({ length: BESIDE }, work))
  return failed
}
