// Members of documents as columns of a table.
import type { Doc, Row } from './types'

/** memberAt is the value at a path of names with points between: "address.city". Undefined if there is none. */
export function memberAt (doc: unknown, path: string): unknown {
  if (typeof doc !== 'object' || doc === null) return undefined
  const members = doc as Doc
  if (path in members) return members[path]
  const point = path.indexOf('.')
  return point < 0 ? undefined : memberAt(members[path.slice(0, point)], path.slice(point + 1))
}

/** inOneLine says a value in a line: text as it is, all else as JSON. What cannot be seen anyway is left out. */
export function inOneLine (value: unknown, longest = 300): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** body is a document without its id and revision, which stand beside it. */
export function body (doc: Doc): Doc {
  const { _id, _rev, ...rest } = doc
  return rest
}

/** membersOf are the names of members that documents have, those that most of them have first. */
export function membersOf (rows: readonly Row[]): string[] {
  const counts = new Map<string, number>()
  for (const { doc } of rows) {
    for (const name of Object.keys(doc)) if (!name.startsWith('_')) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name)
}
