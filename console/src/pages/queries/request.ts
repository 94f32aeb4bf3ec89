// The request of a query.
import { path } from '../../api'
import { parse, type Query } from './kinds'

/** A request for the page of a query that begins at a bookmark. */
export interface Request {
  path: string
  body: Record<string, unknown>
}

/** requestOf is the request of a query. Throws Error with a sentence if the text or what is asked cannot be one. */
export function requestOf (query: Query, bookmark?: string): Request {
  const body = parse(query.text)
  const page = bookmark === undefined ? {} : { bookmark }
  switch (query.kind) {
    case 'mango':
      return { path: path`/${query.db}/_find`, body: { execution_stats: true, ...body, ...page } }
    case 'aggregate':
      return { path: path`/${query.db}/_aggregate`, body: { execution_stats: true, ...body, ...page } }
    case 'distinct':
      return { path: path`/${query.db}/_distinct`, body: { ...body, ...page } }
    case 'view':
      return { path: pathOf(query, 'view'), body: 'keys' in body ? body : { limit: 25, bookmark: '', ...body, ...page } }
    case 'search':
      return { path: pathOf(query, 'search index'), body: { ...body, ...page } }
  }
}

function pathOf ({ db, of }: Query, what: string): string {
  const parts = /^([^/]+)\/(_view|_search|_nouveau)\/(.+)$/s.exec(of ?? '')
  if (!parts) throw new Error(`Choose a ${what} first.`)
  return path`/${db}/_design/${parts[1]!}/` + parts[2]! + path`/${parts[3]!}`
}
