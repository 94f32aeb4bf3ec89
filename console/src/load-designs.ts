// The design documents of a database.
import { get, path } from './api'
import type { DesignDoc } from './designs'

/** loadDesigns reads the design documents of a database. */
export async function loadDesigns (db: string, signal?: AbortSignal): Promise<DesignDoc[]> {
  const range = { startkey: '_design/', endkey: '_design0', include_docs: true }
  const { rows } = await get<{ rows: { doc: DesignDoc | null }[] }>(path`/${db}/_all_docs`, range, { signal, quiet: true })
  return rows.flatMap(({ doc }) => doc ? [doc] : [])
}
