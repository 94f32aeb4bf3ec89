// What the pages of a database share: documents, rows of their list, what a list is filtered by.

/** A document as JSON. */
export type Doc = Record<string, unknown>

/** A document in the list, as it was when it was last read. */
export interface Row {
  id: string
  rev: string
  doc: Doc
  /** It was deleted while the list was open: the row stays where it is, so that nothing jumps. */
  gone?: boolean
}

/** Which documents a list shows: all, those whose id begins with something, or those that a selector of Mango takes. */
export type Filter = { kind: 'all' } | { kind: 'prefix', prefix: string } | { kind: 'selector', selector: Doc }

/** What GET /db says. */
export interface Info {
  doc_count: number
  doc_del_count: number
  update_seq: string
  purge_seq: string
  sizes: { file: number, external: number, active: number }
  props: { partitioned?: boolean, access?: boolean }
  compact_running: boolean
}

/** One line of an answer of _bulk_docs. */
export interface Written {
  id?: string
  ok?: boolean
  rev?: string
  error?: string
  reason?: string
}

/** What GET /db/_security says. */
export interface Security {
  admins?: { names?: string[], roles?: string[] }
  members?: { names?: string[], roles?: string[] }
}

/** pretty is JSON as the editors show it. */
export const pretty = (value: unknown): string => JSON.stringify(value, null, 2)
