// The words that the editor offers: members of documents as samples have them, operators, options.
import type { Kind } from './kinds'
import { kindOf } from './kinds'
import type { EditorProps } from '../../ui'

type Words = NonNullable<EditorProps['complete']>

const DEPTH = 4
const MOST = 500

/** membersOf are the names of members in documents, those of members with dots, with a type and a sample of each. */
export function membersOf (docs: Record<string, unknown>[]): Words {
  const found = new Map<string, string>()
  const look = (value: object, prefix: string, depth: number) => {
    for (const [name, member] of Object.entries(value)) {
      const full = prefix + name
      if (!found.has(full) && found.size < MOST) found.set(full, sample(member))
      if (typeof member === 'object' && member !== null && !Array.isArray(member) && depth < DEPTH) look(member, `${full}.`, depth + 1)
    }
  }
  for (const doc of docs) look(doc, '', 1)
  return [...found].map(([label, detail]) => ({ label, detail, kind: 'member' as const }))
}

function sample (value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 24 ? `${text.slice(0, 23)}…` : text
}

const OPERATORS: Record<string, string> = {
  $eq: 'equal', $ne: 'not equal', $lt: 'less', $lte: 'less or equal', $gt: 'greater', $gte: 'greater or equal',
  $exists: 'true or false', $type: 'null, boolean, number, string, array, object', $in: 'one of a list', $nin: 'none of a list',
  $size: 'length of an array', $mod: '[divisor, rest]', $regex: 'a pattern', $beginsWith: 'a text',
  $and: 'all of a list of selectors', $or: 'one of a list of selectors', $nor: 'none of a list of selectors',
  $not: 'a selector', $all: 'array with all of these', $elemMatch: 'array with such an element',
  $allMatch: 'array of such elements', $keyMapMatch: 'object with such a member', $text: 'words, by a text index'
}

const VALUES: Record<string, string> = {
  $count: 'true', $sum: 'a field', $avg: 'a field', $stats: 'a field', $min: 'a field', $max: 'a field', $first: 'a field',
  $last: 'a field', $distinct: 'a field'
}

/** wordsOf are the words that fit a kind of query, with the members of its documents. */
export function wordsOf (kind: Kind, members: Words): Words {
  const operator = (words: Record<string, string>) =>
    Object.entries(words).map(([label, detail]) => ({ label, detail, kind: 'operator' as const }))
  const options = kindOf(kind).options.map(({ name, title }) => ({ label: name, detail: title, kind: 'value' as const }))
  switch (kind) {
    case 'mango':
      return [...members, ...operator(OPERATORS), { label: 'selector', kind: 'value' }, { label: 'bookmark', kind: 'value' }, ...options]
    case 'aggregate':
      return [...members, ...operator({ ...OPERATORS, ...VALUES }), { label: 'selector', kind: 'value' }, ...options]
    default:
      return [...members, ...options]
  }
}
