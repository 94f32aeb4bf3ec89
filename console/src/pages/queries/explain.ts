// What `_explain` and the statistics of a query say, as a picture shows it.
import type { Stats } from './answer'

export interface IndexName {
  ddoc: string | null
  name: string
  type: string
  def?: { fields?: Record<string, string>[] }
}

interface Way {
  type: string
  ddoc?: string
  name?: string
  field?: string
  fields?: string[]
  sorted: boolean
  estimate: number
  exact: boolean
  chosen: boolean
}

/** The members of an answer of `_explain` that are read here. */
export interface Explained {
  index: IndexName | null
  selector: Record<string, unknown>
  opts: { sort: Record<string, string> }
  covering?: boolean
  index_candidates: { index: IndexName, analysis: { usable: boolean, reasons: { name: string }[] } }[]
  auto?: { ready: boolean, ways: Way[] }
  aggregate?: { plan: string, index?: { ddoc: string, name: string }, reads: string, keeps: string, estimate?: number }
}

/** One way to the documents of a query. */
export interface AccessPath {
  title: string
  chosen: boolean
  /** Rows or documents it would read, where that is known or estimated. */
  estimate: number | undefined
  exact: boolean
  /** Why it is, or is not, the one. */
  words: string
}

const REASONS: Record<string, string> = {
  is_partial: 'it holds only documents that pass its partial filter, and the query may want others',
  scope_mismatch: 'it is for one partition or for all, and the query is for the other',
  needs_text_search: 'the query has $text, which only a text index answers',
  empty_selector: 'the selector says nothing that a text index could look for',
  field_mismatch: 'the selector does not name the fields that it begins with or needs',
  sort_order_mismatch: 'its order is not that of the sort',
  excluded_by_user: 'use_index names another one',
  unfavored_type: 'an index of another type comes first',
  less_overlap: 'another index has more fields of the selector',
  too_many_fields: 'another index has the same fields and fewer besides',
  alphabetically_comes_after: 'an equally good index has a name that comes first'
}

// Names that the server makes are hashes, of which a few digits tell one from another.
const cut = (name: string) => /^[0-9a-f]{40}$/.test(name) ? name.slice(0, 7) : name
const short = (ddoc: string | null | undefined) => cut((ddoc ?? '').replace('_design/', ''))

/** titleOf names an index as people know it. */
export function titleOf ({ type, ddoc, name }: { type: string, ddoc?: string | null, name?: string }): string {
  if (type === 'special') return 'All documents'
  if (type === 'auto') return `All-fields index ${short(ddoc)}`
  return `${type === 'json' ? 'Index' : `${type} index`} ${short(ddoc) === cut(name ?? '') ? short(ddoc) : `${short(ddoc)}/${cut(name ?? '')}`}`
}

/** pathsOf are the access paths of a query, the chosen one first. documents is how many the database has. */
export function pathsOf (explained: Explained, documents: number | undefined): AccessPath[] {
  const { index, index_candidates: candidates, auto, aggregate } = explained
  const ways = (auto?.ways ?? []).map(way => ({
    title: titleOf(way) + (way.field ? `, field ${way.field}` : way.fields ? `, fields ${way.fields.join(', ')}` : ''),
    chosen: way.chosen, estimate: way.estimate, exact: way.exact,
    words: way.sorted ? 'in the order of the sort' : ''
  }))
  const paths: AccessPath[] = [...ways]
  if (aggregate) {
    const title = aggregate.index ? `Index ${short(aggregate.index.ddoc)}/${aggregate.index.name}` : 'What the selector finds'
    const estimate = aggregate.estimate ?? (aggregate.index ? undefined : documents)
    paths.push({ title, chosen: true, estimate, exact: false, words: `plan “${aggregate.plan}”: reads ${aggregate.reads}, keeps ${aggregate.keeps}` })
  } else if (index && ways.length === 0) {
    const special = index.type === 'special'
    const words = special ? 'no index fits' : explained.covering ? 'has all fields of the answer: no document is read' : ''
    paths.push({ title: titleOf(index), chosen: true, estimate: special ? documents : undefined, exact: false, words })
  }
  const same = (one: string) => paths.some(path => path.title === one || path.title.startsWith(`${one},`))
  for (const { index: other, analysis } of candidates) {
    if (same(titleOf(other))) continue
    const special = other.type === 'special'
    paths.push({
      title: titleOf(other), chosen: false, estimate: special ? documents : undefined, exact: false,
      words: analysis.reasons.map(({ name }) => REASONS[name] ?? name).join('; ')
    })
  }
  return paths.sort((a, b) => Number(b.chosen) - Number(a.chosen))
}

/** The steps from what is read to the answer. */
export function funnelOf (stats: Stats): { title: string, n: number }[] {
  return [
    { title: 'Rows of the index read', n: stats.total_keys_examined },
    { title: 'Documents read', n: stats.total_docs_examined },
    { title: 'Results of this page', n: stats.results_returned }
  ]
}

const RANGES = ['$gt', '$gte', '$lt', '$lte', '$beginsWith', '$in']

/**
 * helpfulIndex are the fields of the JSON index that would serve a query best: those that equal a value, then those of
 * the groups or the sort, else one range. Undefined if the selector names none, or if an index begins with these already.
 */
export function helpfulIndex (explained: Explained, body: Record<string, unknown>): { fields: string[], values: string[] } | undefined {
  const { $and, ...rest } = explained.selector
  const conditions = [...Array.isArray($and) ? $and as Record<string, unknown>[] : [], rest]
    .flatMap(one => Object.entries(one)).filter(([name]) => !name.startsWith('$'))
  const with_ = (operators: string[]) => conditions
    .filter(([, condition]) => typeof condition === 'object' && condition !== null && operators.some(one => one in condition))
    .map(([name]) => name)
  const groups = (Array.isArray(body.group_by) ? body.group_by as (string | { field: string })[] : [])
    .map(one => typeof one === 'string' ? one : one.field)
  const equal = with_(['$eq'])
  const order = groups.length > 0 ? groups : Object.keys(explained.opts.sort)
  const range = order.length > 0 ? [] : with_(RANGES).filter(name => !equal.includes(name)).slice(0, 1)
  const fields = [...new Set([...equal, ...order, ...range])].filter(name => name !== '_id')
  if (fields.length === 0) return undefined
  const values = groups.length > 0 ? summedOf(body.values) : []
  const begins = ({ def }: IndexName) => fields.every((field, i) => def?.fields?.[i] && field in def.fields[i]!)
  const known = [explained.index, ...explained.index_candidates.map(one => one.index)]
  const there = known.some(index => index?.type === 'json' && begins(index))
  return there && values.length === 0 ? undefined : there && explained.aggregate?.plan === 'summed' ? undefined : { fields, values }
}

// summedOf are the fields that an aggregation adds up.
function summedOf (values: unknown): string[] {
  const operators = Object.values((values ?? {}) as Record<string, Record<string, unknown>>)
  const fields = operators.flatMap(one => ['$sum', '$avg', '$stats', '$min', '$max'].map(name => one?.[name]))
  return [...new Set(fields.filter(field => typeof field === 'string'))].slice(0, 16)
}
