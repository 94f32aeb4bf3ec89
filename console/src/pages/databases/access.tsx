// Access for each document: whom a document is for, what a user sees, and to whom users may give documents.
import { useState } from 'preact/hooks'
import { get, path, put } from '../../api'
import { plural } from '../../format'
import { href } from '../../router'
import { useSession } from '../../session'
import { Button, Failure, Field, State, Table, toast } from '../../ui'
import { useLoad } from '../../use'
import { tall } from '../overview/overview'
import type { Shown } from './inspector'
import { short } from './revisions'

interface Leaf {
  rev: string
  deleted?: boolean
  access: string[]
  /** Its body has no list: it is that of what it deletes. */
  inherited?: boolean
}

// inWords says what an entry of a list means.
const inWords = (entry: string): string =>
  entry === '_users' ? 'everybody who has signed in' : entry.startsWith('role:') ? `role ${entry.slice(5)}` : `user ${entry}`

function why (leaf: Leaf): string {
  if (leaf.inherited) return 'has no list, and keeps that of what it deletes'
  return leaf.access.length > 0 ? 'by its member _access' : 'its member _access names nobody, or is missing'
}

/** WhoSees shows whom each leaf of a document is for, and by which rule. */
export function WhoSees ({ db, id, doc }: Pick<Shown, 'db' | 'id' | 'doc'>) {
  const { value, error, again } = useLoad(
    signal => get<{ leaves: Leaf[] }>(path`/${db}/_access/${id}`, undefined, { signal, quiet: true }), [doc])
  if (error) return <Failure error={error} doing='Reading whom it is for' again={again} />
  return (
    <div class='stack'>
      {value?.leaves.map(leaf => (
        <section key={leaf.rev} class='stack' aria-label={`Revision ${leaf.rev}`}>
          <h2>
            {leaf.access.map(inWords).join(', ') || 'administrators alone'}{' '}
            {leaf.deleted && <State tone='deleted'>deleted</State>}
          </h2>
          <p class='muted'><code>{short(leaf.rev)}</code> {why(leaf)}.</p>
        </section>
      ))}
      <p class='muted small'>
        Administrators of the server and of the database see everything. Each leaf of a document has a list of its own: who is
        in none of them does not see the document. <a href={href(['databases', db], { part: 'about' })}>What a user sees</a>
      </p>
    </div>
  )
}

/** Sharing chooses to whom users may give documents. */
export function Sharing ({ db }: { db: string }) {
  const { value, error, again } = useLoad(signal => get<{ share: string }>(path`/${db}/_access`, undefined, { signal, quiet: true }), [db])
  const choose = async (share: string) => {
    try {
      await put(path`/${db}/_access`, { share })
      toast(share === 'any' ? 'Users share their documents with anybody.' : 'Administrators alone change for whom documents are.')
    } catch (e) {
      toast(e as Error)
    }
    again()
  }
  if (error) return <Failure error={error} doing='Reading who shares' again={again} />
  return (
    <Field label='Who says for whom a document is' hint='A new document is always for the user who writes it, or for a role of the user.'>
      {(id, about) => (
        <select id={id} aria-describedby={about} value={value?.share ?? 'self'} onChange={event => { void choose(event.currentTarget.value) }}>
          <option value='self'>administrators: users write for themselves and their roles</option>
          <option value='any'>users: they share with anybody</option>
        </select>
      )}
    </Field>
  )
}

const PAGE = 200

interface Slice {
  rows: { id: string }[]
  total_rows: number | null
  roles: string[]
}

/** WhatIsSeen lists the documents that a user sees, whether there is the user or not. */
export function WhatIsSeen ({ db }: { db: string }) {
  const { user } = useSession()
  const [typed, setTyped] = useState({ name: '', roles: '' })
  const [asked, ask] = useState<typeof typed>()
  const [limit, setLimit] = useState(PAGE)
  const { value, error, busy } = useLoad(async (signal): Promise<Slice | undefined> => {
    if (!asked) return undefined
    const quiet = { signal, quiet: true }
    let roles = asked.roles.split(/[\s,]+/).filter(role => role !== '')
    if (roles.length === 0 && user.admin) {
      const { rows } = await get<{ rows: { doc?: { roles: string[] } | null }[] }>(
        '/_users/_all_docs', { key: `org.couchdb.user:${asked.name}`, include_docs: true }, quiet)
      roles = rows[0]?.doc?.roles ?? []
    }
    return { ...await get<Slice>(path`/${db}/_access/${asked.name}/_all_docs`, { roles, limit }, { signal }), roles }
  }, [db, asked, limit])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setLimit(PAGE)
    ask({ ...typed })
  }
  const rows = value?.rows ?? []
  return (
    <form class='stack' onSubmit={submit}>
      <Field label='User'>
        {id => <input id={id} required value={typed.name} onInput={event => setTyped({ ...typed, name: event.currentTarget.value })} />}
      </Field>
      <Field label='Roles' hint={user.admin ? 'Empty: those that the user has.' : 'Separated by commas.'}>
        {(id, about) => <input id={id} aria-describedby={about} value={typed.roles} onInput={event => setTyped({ ...typed, roles: event.currentTarget.value })} />}
      </Field>
      <div class='row'><Button type='submit' busy={busy && asked !== undefined}>Show</Button></div>
      {error && <Failure error={error} doing='Reading what the user sees' />}
      {asked && value && (
        <>
          <p role='status'>
            {value.total_rows === null ? 'More than 10,000 documents' : plural(value.total_rows, 'document')} as {asked.name}
            {value.roles.length > 0 && ` with ${value.roles.join(', ')}`}
          </p>
          <div class='short-list' ref={tall(rows.length)}>
            <Table
              label={`Documents of ${asked.name}`} rows={rows} rowKey={row => row.id} empty='No document.'
              more={rows.length === limit && !busy ? () => setLimit(limit * 2) : undefined}
              columns={[{ key: 'id', title: 'Id', cell: row => <a class='mono' href={href(['databases', db], { doc: row.id, show: 'access' })}>{row.id}</a> }]}
            />
          </div>
        </>
      )}
    </form>
  )
}
