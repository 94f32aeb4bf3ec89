// Requests for documents: pages of a list, saving, deleting and bringing back.
import { ask, docPath, get, path, post, remove, type Options } from '../../api'
import type { Doc, Filter, Info, Row, Written } from './types'

/** How many documents a list asks for at once. */
export const PAGE = 100

/** A part of a list, and what asks for the part after it; undefined at the end. */
export interface Chunk {
  rows: Row[]
  next: string | undefined
  /** What the server says about a slow query. */
  warning?: string | undefined
}

interface Found {
  docs: Doc[]
  bookmark: string
  warning?: string
}

interface AllDocs {
  rows: { id: string, key: string, value?: { rev: string, deleted?: boolean }, doc?: Doc | null, error?: string }[]
}

const rowOf = (doc: Doc): Row => ({ id: doc._id as string, rev: doc._rev as string, doc })

/** range is the members of a query of _all_docs that take the ids which begin with a prefix. */
export const range = (prefix: string): Doc => prefix === '' ? {} : { startkey: prefix, endkey: `${prefix}\u{10ffff}` }

/** readChunk reads the documents of a list after those that were read before, `next` of the part before. */
export async function readChunk (
  db: string, filter: Filter, after: string | undefined, signal?: AbortSignal, limit = PAGE
): Promise<Chunk> {
  if (filter.kind === 'selector') {
    const query = { selector: filter.selector, limit, ...(after !== undefined && { bookmark: after }) }
    const { docs, bookmark, warning } = await post<Found>(path`/${db}/_find`, query, { signal, quiet: after !== undefined })
    return { rows: docs.map(rowOf), next: docs.length < limit ? undefined : bookmark, warning }
  }
  const from = filter.kind === 'prefix' ? range(filter.prefix) : {}
  const query = { ...from, ...(after !== undefined && { startkey: after, skip: 1 }), limit, include_docs: true }
  const { rows } = await get<AllDocs>(path`/${db}/_all_docs`, query, { signal, quiet: after !== undefined })
  const read = rows.filter(row => row.doc).map(row => rowOf(row.doc!))
  return { rows: read, next: rows.length < limit ? undefined : rows.at(-1)!.id }
}

/** readNow reads documents by their ids; those that are deleted are not in the answer. At most 1,000 at a time. */
export async function readNow (db: string, keys: string[], signal?: AbortSignal): Promise<Map<string, Row>> {
  const options = { query: { include_docs: true }, signal, quiet: true }
  const { rows } = await post<AllDocs>(path`/${db}/_all_docs`, { keys }, options)
  return new Map(rows.filter(row => row.doc).map(row => [row.id, rowOf(row.doc!)]))
}

/** indexOf is the name of the index that a selector is answered with. */
export async function indexFor (db: string, selector: Doc, signal: AbortSignal): Promise<string> {
  const plan = await post<{ index: { name: string } }>(path`/${db}/_explain`, { selector }, { signal, quiet: true })
  return plan.index.name
}

export const readInfo = (db: string, signal?: AbortSignal): Promise<Info> => get<Info>(path`/${db}`, undefined, { signal, quiet: true })

/** readDoc reads a document; a deleted one is its tombstone. */
export function readDoc (db: string, id: string, query: Doc = {}, options: Options = {}): Promise<Doc> {
  return get<Doc>(docPath(db, id), { deleted: true, ...query }, options)
}

/** saveText stores a document as it was typed. */
export async function saveText (db: string, id: string, text: string): Promise<Written> {
  return (await ask<Written>(docPath(db, id), { method: 'PUT', text })).value
}

/** deleteDoc deletes a revision of a document. */
export const deleteDoc = (db: string, id: string, rev: string): Promise<Written> => remove<Written>(docPath(db, id), { rev })

/** restore makes a revision the current one again, of a deleted document, too. */
export const restore = (db: string, id: string, rev: string): Promise<Written> =>
  ask<Written>(docPath(db, id) + '/_restore', { method: 'POST', query: { rev } }).then(answer => answer.value)

/** writeAll stores documents at once. The answer has a line for each, in their order. */
export const writeAll = (db: string, docs: Doc[], options: Options = {}): Promise<Written[]> =>
  post<Written[]>(path`/${db}/_bulk_docs`, { docs }, options)
