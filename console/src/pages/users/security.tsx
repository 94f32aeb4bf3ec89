// The rights in one database.
import { useMemo, useState } from 'preact/hooks'
import { get, path, put } from '../../api'
import { useParam } from '../../router'
import { Button, DatabaseNames, Failure, Field, Notice, toast } from '../../ui'
import { useDraft, useLoad } from '../../use'
import { group, isPublic, list, type Security } from './rights'

type Text = Record<'adminNames' | 'adminRoles' | 'memberNames' | 'memberRoles', string>

const FIELDS: { key: keyof Text, label: string, hint: string }[] = [
  { key: 'adminNames', label: 'Administrators: names', hint: 'They change design documents and these rights as well.' },
  { key: 'adminRoles', label: 'Administrators: roles', hint: '' },
  { key: 'memberNames', label: 'Members: names', hint: 'They read and write documents.' },
  { key: 'memberRoles', label: 'Members: roles', hint: 'Without any member the database is open to everybody.' }
]

export function Rights () {
  const [db, setDb] = useParam('db')
  const [typed, setTyped] = useState(db ?? '')
  return (
    <div class='stack narrow'>
      <Field label='Database'>
        {id => (
          <>
            <input
              id={id} list={`${id}-names`} value={typed} onInput={event => setTyped(event.currentTarget.value)}
              onChange={event => setDb(event.currentTarget.value)}
              placeholder='Name of a database'
            />
            <DatabaseNames id={`${id}-names`} typed={typed} />
          </>
        )}
      </Field>
      {db ? <Form key={db} db={db} /> : <p class='muted'>Choose a database: its rights say who reads, writes and administers it.</p>}
    </div>
  )
}

function text (security: Security): Text {
  const admins = group(security.admins)
  const members = group(security.members)
  return {
    adminNames: admins.names.join(', '), adminRoles: admins.roles.join(', '),
    memberNames: members.names.join(', '), memberRoles: members.roles.join(', ')
  }
}

function Form ({ db }: { db: string }) {
  const loaded = useLoad(signal => get<Security>(path`/${db}/_security`, undefined, { signal, quiet: true }), [db])
  if (loaded.value) return <Edit db={db} stored={loaded.value} again={loaded.again} />
  return loaded.error ? <Failure error={loaded.error} doing={`Reading the rights of ${db}`} again={loaded.again} /> : null
}

function Edit ({ db, stored, again }: { db: string, stored: Security, again: () => void }) {
  const draft = useDraft(useMemo(() => text(stored), [stored]))
  const typed = draft.now
  const next: Security = {
    ...stored,
    admins: { ...stored.admins, names: list(typed.adminNames), roles: list(typed.adminRoles) },
    members: { ...stored.members, names: list(typed.memberNames), roles: list(typed.memberRoles) }
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    try {
      await put(path`/${db}/_security`, next)
      toast(`The rights of ${db} were saved.`)
      draft.saved(typed)
      again()
    } catch (e) {
      toast(e as Error)
    }
  }
  return (
    <form class='stack' onSubmit={submit}>
      {isPublic(next) && <Notice kind='waiting'>Open: everybody who reaches the server reads and writes {db}. Name a member, or the role _admin, to close it.</Notice>}
      {FIELDS.map(({ key, label, hint }) => (
        <Field key={key} label={label} hint={hint}>
          {(id, about) => (
            <input id={id} aria-describedby={about} value={typed[key]} onInput={event => draft.type({ [key]: event.currentTarget.value })} />
          )}
        </Field>
      ))}
      <div class='row'><Button kind='primary' type='submit'>Save</Button></div>
    </form>
  )
}
