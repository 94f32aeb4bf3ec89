// Versions of a document in conflict: what differs between them by member, and what comes out of a choice.
import { pretty, type Doc, type Written } from './types'

// What belongs to a revision and not to the document.
const OF_REVISION = new Set(['_id', '_rev', '_revisions', '_conflicts'])

/** A member of versions that are in conflict: its value in each, undefined where it is not. */
export interface Member {
  name: string
  values: unknown[]
  /** Whether all have the same. */
  same: boolean
}

// canonical is JSON whose members are sorted, so that their order makes no difference.
function canonical (value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1))
    : inner) ?? ''
}

/** membersIn compares versions member by member. */
export function membersIn (versions: Doc[]): Member[] {
  const names = [...new Set(versions.flatMap(version => Object.keys(version)))].filter(name => !OF_REVISION.has(name))
  return names.map(name => {
    const values = versions.map(version => version[name])
    return { name, values, same: new Set(values.map(canonical)).size === 1 }
  })
}

/**
 * solve is what _bulk_docs is asked for: the version that is kept, if it is changed, and the end of all others. Each
 * member comes from the version that choice names, or from the first. It is written over the version whose attachments
 * are chosen, since a stub of an attachment is good on its own branch only.
 */
export function solve (versions: Doc[], choice: ReadonlyMap<string, number>): Doc[] {
  const from = (name: string) => choice.get(name) ?? 0
  const base = versions[from('_attachments')]!
  const merged: Doc = { _id: base._id, _rev: base._rev }
  for (const { name, values } of membersIn(versions)) {
    const value = values[from(name)]
    if (value !== undefined) merged[name] = value
  }
  const unchanged = membersIn([base, merged]).every(member => member.same)
  const ends = versions.filter(version => version !== base).map(({ _id, _rev }) => ({ _id, _rev, _deleted: true }))
  return unchanged ? ends : [merged, ...ends]
}

/** refused is the error of the first document that was not written. */
export function refused (written: Written[]): Error | undefined {
  const line = written.find(one => one.error !== undefined)
  return line && new Error(`${line.reason ?? line.error} (${line.error})`)
}

/** shownValue says the value of a member, as JSON; nothing where it is not there. */
export const shownValue = (value: unknown): string => value === undefined ? '' : pretty(value)
