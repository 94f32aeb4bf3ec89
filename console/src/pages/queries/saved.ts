// Queries that this browser keeps: the last ones, and those that have a name.
import { KINDS, type Query } from './kinds'

export interface Ran extends Query {
  /** When it was run, in milliseconds since 1970. */
  at: number
  rows: number
  ms: number
}

export type Saved = Record<string, Query>

const MOST = 50

const same = (a: Query, b: Query) => a.kind === b.kind && a.db === b.db && a.of === b.of && a.text === b.text

/** remember puts a query first; the same one is not listed twice. */
export function remember (history: Ran[], ran: Ran): Ran[] {
  return [ran, ...history.filter(one => !same(one, ran))].slice(0, MOST)
}

/** readSaved reads what was exported. Throws Error with a sentence if it is something else. */
export function readSaved (text: string): Saved {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('The file is not JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('The file holds no saved queries.')
  const kinds = KINDS.map(one => one.kind as string)
  return Object.fromEntries(Object.entries(value as Record<string, Partial<Query> | null>).map(([name, query]) => {
    const { kind = '', db, of, text } = query ?? {}
    if (!kinds.includes(kind) || typeof db !== 'string' || typeof text !== 'string' || (of !== undefined && typeof of !== 'string')) {
      throw new Error(`“${name}” is no query.`)
    }
    return [name, { kind: kind as Query['kind'], db, of, text }]
  }))
}
