// The list of users, and the chosen one.
import { useMemo, useState } from 'preact/hooks'
import { useCommands } from '../../commands'
import { plural } from '../../format'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Button, confirm, Dialog, Empty, Failure, Field, Notice, Split, State, Table, toast } from '../../ui'
import { useDraft, useLater, useLoad } from '../../use'
import { list } from './rights'
import { create, drop, load, save, type User } from './users'

export function People () {
  const { user: me } = useSession()
  const [filter, setFilter] = useParam('filter')
  const [chosen, choose] = useParam('chosen')
  const [creating, setCreating] = useState(false)
  const prefix = useLater(filter ?? '')
  const users = useLoad(signal => load(prefix, { signal }), [prefix])
  const user = users.value?.find(one => one.name === chosen)
  useCommands(useMemo(() => [{ title: 'Create a user', run: () => setCreating(true) }], []))
  const make = <Button kind='primary' onClick={() => setCreating(true)}>Create user</Button>
  return (
    <>
      <div class='row'>
        <input
          type='search' aria-label='Names that begin with' placeholder='Names that begin with' value={filter ?? ''}
          onInput={event => setFilter(event.currentTarget.value)}
        />
        {make}
        <span class='muted'>{users.value && plural(users.value.length, 'user')}</span>
      </div>
      {users.error && <Failure error={users.error} doing='Reading the users' again={users.again} />}
      <Split
        label='User' onClose={() => choose(undefined)}
        inspector={user && <Inspector key={user.name} user={user} mine={user.name === me.name} again={users.again} close={() => choose(undefined)} />}
        list={
          <Table
            label='Users' rows={users.value ?? []} rowKey={one => one.name} chosen={chosen} onChoose={one => choose(one.name)}
            columns={[
              { key: 'name', title: 'Name', cell: one => one.name },
              { key: 'roles', title: 'Roles', width: '2fr', cell: one => one.roles.filter(role => role !== '_admin').join(', ') || '–' },
              { key: 'admin', title: 'Server', width: '140px', cell: one => one.admin ? <State tone='running'>administrator</State> : '' }
            ]}
            empty={users.value && (
              <Empty
                title='No user' action={make}
                curl={`curl -u ${me.name ?? 'admin'} -X PUT ${location.origin}/_users/org.couchdb.user:ann -d '{"name":"ann","password":"…","roles":[],"type":"user"}'`}
              >
                A user signs in with a name and a password, and may do what databases allow that name or one of its roles.
              </Empty>
            )}
          />
        }
      />
      {creating && <Create onClose={() => setCreating(false)} onDone={name => { users.again(); choose(name) }} />}
    </>
  )
}

function Inspector ({ user, mine, again, close }: { user: User, mine: boolean, again: () => void, close: () => void }) {
  const draft = useDraft(useMemo(() => ({ roles: user.doc?.roles.join(', ') ?? '', password: '' }), [user]))
  const { roles, password } = draft.now
  const act = async (what: Promise<unknown>, done: string) => {
    try {
      await what
      toast(done)
      draft.saved({ roles, password })
      again()
    } catch (e) {
      toast(e as Error)
    }
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(save(user, list(roles), password), `${user.name} was saved.`)
  }
  const removeUser = async () => {
    const what = `${user.name} cannot sign in any more${user.admin ? ', and administers the server no longer' : ''}. Documents stay as they are.`
    if (!await confirm(`Delete the user ${user.name}?`, what, 'Delete')) return
    close()
    await act(drop(user), `${user.name} was deleted.`)
  }
  return (
    <form class='stack' onSubmit={submit}>
      <h2>{user.name}</h2>
      {user.admin && <Notice kind='hint'>Administers the server: may do everything, in every database.</Notice>}
      {user.doc && (
        <Field label='Roles' hint='Separated by commas. Databases give rights to names and to roles.'>
          {(id, about) => <input id={id} aria-describedby={about} value={roles} onInput={event => draft.type({ roles: event.currentTarget.value })} />}
        </Field>
      )}
      <Field label='New password' hint='Empty leaves it as it is.'>
        {(id, about) => (
          <input
            id={id} type='password' autocomplete='new-password' aria-describedby={about} value={password}
            onInput={event => draft.type({ password: event.currentTarget.value })}
          />
        )}
      </Field>
      <div class='row'>
        <Button kind='primary' type='submit'>Save</Button>
        <Button kind='danger' disabled={mine} title={mine ? 'You are signed in with this name' : ''} onClick={removeUser}>Delete</Button>
      </div>
    </form>
  )
}

function Create ({ onClose, onDone }: { onClose: () => void, onDone: (name: string) => void }) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [roles, setRoles] = useState('')
  const [admin, setAdmin] = useState(false)
  const [error, setError] = useState<string>()
  const submit = async () => {
    try {
      await create(name, password, list(roles), admin)
      toast(`${name} was created.`)
      onDone(name)
      onClose()
    } catch (e) {
      setError((e as Error).message)
    }
  }
  return (
    <Dialog
      title='Create a user' onClose={onClose} onSubmit={submit}
      actions={
        <>
          <Button kind='plain' onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit'>Create</Button>
        </>
      }
    >
      {error && <Notice kind='failed'>{error}</Notice>}
      <Field label='Name'>{id => <input id={id} required autocomplete='off' autofocus value={name} onInput={event => setName(event.currentTarget.value)} />}</Field>
      <Field label='Password'>
        {id => <input id={id} required type='password' autocomplete='new-password' value={password} onInput={event => setPassword(event.currentTarget.value)} />}
      </Field>
      <label class='row'>
        <input type='checkbox' checked={admin} onChange={event => setAdmin(event.currentTarget.checked)} /> Administers the server
      </label>
      {!admin && (
        <Field label='Roles' hint='Separated by commas.'>
          {(id, about) => <input id={id} aria-describedby={about} value={roles} onInput={event => setRoles(event.currentTarget.value)} />}
        </Field>
      )}
    </Dialog>
  )
}
