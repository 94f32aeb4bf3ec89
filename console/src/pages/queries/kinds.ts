// The kinds of queries: how each is asked, and what its form offers.

export type Kind = 'mango' | 'view' | 'search' | 'aggregate' | 'distinct'

/** An option of a query that its form shows, a member of the text. */
export interface Option {
  name: string
  title: string
  /** `json` is any value, typed as JSON; a text is typed without quotation marks. */
  type: 'json' | 'number' | 'flag' | 'text'
  hint?: string
}

export interface KindEntry {
  kind: Kind
  title: string
  /** The text of a query that nobody has changed yet. */
  first: string
  options: Option[]
  help: string
}

const limit: Option = { name: 'limit', title: 'Rows of a page', type: 'number' }
const json = (value: unknown) => JSON.stringify(value, null, 2)

export const KINDS: KindEntry[] = [
  {
    kind: 'mango', title: 'Mango', first: json({ selector: {}, limit: 25 }), help: 'mango.md',
    options: [
      limit,
      { name: 'sort', title: 'Sort', type: 'json', hint: '["day"] or [{"day": "desc"}]' },
      { name: 'fields', title: 'Fields', type: 'json', hint: '["_id", "amount"]' },
      { name: 'use_index', title: 'Use index', type: 'json', hint: '"DESIGN" or ["DESIGN", "NAME"]' },
      { name: 'count', title: 'Count all that pass', type: 'flag' }
    ]
  },
  {
    kind: 'view', title: 'View', first: json({ limit: 25 }), help: 'views.md',
    options: [
      limit,
      { name: 'key', title: 'Key', type: 'json', hint: '"DE" or ["DE", 2026]' },
      { name: 'startkey', title: 'From key', type: 'json' },
      { name: 'endkey', title: 'To key', type: 'json' },
      { name: 'group_level', title: 'Group by so many parts', type: 'number' },
      { name: 'group', title: 'Group', type: 'flag' },
      { name: 'reduce', title: 'Reduce', type: 'flag' },
      { name: 'descending', title: 'Descending', type: 'flag' },
      { name: 'include_docs', title: 'With documents', type: 'flag' }
    ]
  },
  {
    kind: 'search', title: 'Full text', first: json({ q: '*:*', limit: 25 }), help: 'search.md',
    options: [
      { name: 'q', title: 'Words', type: 'text', hint: 'red apples, name:ann*, "a phrase"' },
      limit,
      { name: 'sort', title: 'Sort', type: 'json', hint: '"-amount" or ["name"]' },
      { name: 'counts', title: 'Count values of', type: 'json', hint: '["place"]' },
      { name: 'include_docs', title: 'With documents', type: 'flag' }
    ]
  },
  {
    kind: 'aggregate', title: 'Groups', first: json({ selector: {}, group_by: ['type'], values: { n: { $count: true } } }),
    help: 'mango.md#groups-and-sums',
    options: [
      { name: 'group_by', title: 'Group by', type: 'json', hint: '["country", {"field": "day", "prefix": 7}]' },
      { name: 'values', title: 'Values', type: 'json', hint: '{"n": {"$count": true}, "sum": {"$sum": "amount"}}' },
      { name: 'sort', title: 'Sort', type: 'json', hint: '[{"n": "desc"}]' },
      limit
    ]
  },
  {
    kind: 'distinct', title: 'Distinct', first: json({ field: 'type', limit: 100 }), help: 'all-fields-index.md#distinct-values',
    options: [
      { name: 'field', title: 'Field', type: 'text' },
      { name: 'elements', title: 'Elements of its arrays', type: 'flag' },
      limit
    ]
  }
]

export const kindOf = (kind: string | undefined): KindEntry => KINDS.find(one => one.kind === kind) ?? KINDS[0]!

/** What is asked: a kind, the database, which view or search index ("shop/_view/byday"), and the text of the body. */
export interface Query {
  kind: Kind
  db: string
  of: string | undefined
  text: string
}

/** parse reads the text of a query, which is one object. */
export function parse (text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`The query is not JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('A query is one object in { }.')
  return value as Record<string, unknown>
}

/** withOption puts an option into the text of a query, or takes it out where the value is undefined. */
export function withOption (text: string, name: string, value: unknown): string {
  const body = parse(text)
  if (value === undefined) delete body[name]
  else body[name] = value
  return JSON.stringify(body, null, 2)
}
