// Who is signed in, and the form that signs in.
import { createContext, type ComponentChildren } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, get, hasToken, onSignedOut, path, post, put, remove, setToken } from './api'
import { Button, Field, Notice } from './ui'
import { useLatest } from './use'

export interface User {
  /** The name, or null of a server that everybody administers. */
  name: string | null
  roles: string[]
  /** Whether the user administers the server. */
  admin: boolean
}

interface SessionAnswer {
  userCtx: { name: string | null, roles: string[] }
}

interface Session {
  user: User
  signOut: () => void
  /** changePassword gives the user a new password, and the browser a new session, for the old ones end with it. */
  changePassword: (current: string, next: string) => Promise<void>
}

const Session = createContext<Session>({
  user: { name: null, roles: [], admin: false }, signOut: () => {}, changePassword: async () => {}
})

/** useSession is who is signed in, how to leave, and how to change the password. */
export const useSession = () => useContext(Session)

async function whoAmI (): Promise<User> {
  const { userCtx } = await get<SessionAnswer>('/_session', undefined, { quiet: true })
  return { ...userCtx, admin: userCtx.roles.includes('_admin') }
}

const known = (user: User) => user.name !== null || user.admin

/** SignedIn shows its children to who is signed in, and the form to everybody else. */
export function SignedIn ({ children }: { children: ComponentChildren }) {
  const [user, setUser] = useState<User>()
  const [failed, setFailed] = useState<string>()
  const look = useLatest(() => {
    whoAmI().then(next => {
      setFailed(user && known(user) && !known(next) ? 'The session has ended.' : undefined)
      // The same user stays the same object: what is loaded for it is not loaded again.
      setUser(before => before && JSON.stringify(before) === JSON.stringify(next) ? before : next)
    }, (error: Error) => {
      // A token that is refused is answered 401 here, too.
      setToken(undefined)
      setFailed(error.message)
      setUser({ name: null, roles: [], admin: false })
    })
  })
  const changing = useRef(false)
  useEffect(() => {
    look()
    return onSignedOut(() => { if (!changing.current) look() })
  }, [])
  if (!user) return null
  if (!known(user)) return <SignIn failed={failed} onDone={look} />
  const signOut = async () => {
    if (hasToken()) setToken(undefined)
    await remove('/_session').catch(() => {})
    setFailed(undefined)
    setUser({ name: null, roles: [], admin: false })
  }
  const changePassword = async (current: string, next: string) => {
    const name = user.name!
    // The session that this makes is not kept: the answer to a wrong password takes the browser's cookie away.
    const check = await fetch('/_session', {
      method: 'POST', credentials: 'omit', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name, password: current })
    })
    if (!check.ok) throw new Error(check.status === 401 ? 'The current password is not this one.' : `The server answers ${check.status}.`)
    changing.current = true
    try {
      await setPassword(user, next)
      await post('/_session', { name, password: next }, { quiet: true })
    } finally {
      changing.current = false
      look()
    }
  }
  return <Session.Provider value={{ user, signOut, changePassword }}>{children}</Session.Provider>
}

// As in CouchDB, members of _users alone reach their own documents, and unless _security says otherwise nobody is one.
const CLOSED = 'The database _users is for administrators alone here. One of them sets your password, or lets users into _users.'

// setPassword writes it where the user is: administrators in the settings, others in the database of users.
async function setPassword ({ name, admin }: User, password: string): Promise<void> {
  const quiet = { quiet: true }
  if (admin) return await put(path`/_node/_local/_config/admins/${name!}`, password, quiet)
  const doc = path`/_users/${`org.couchdb.user:${name!}`}`
  const own = await get<object>(doc, undefined, quiet).catch((e: unknown) => { throw e instanceof ApiError && e.status === 403 ? new Error(CLOSED) : e })
  await put(doc, { ...own, password }, quiet)
}

function SignIn ({ failed, onDone }: { failed: string | undefined, onDone: () => void }) {
  const [error, setError] = useState(failed)
  const [byToken, setByToken] = useState(false)
  const [busy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    setBusy(true)
    try {
      if (byToken) {
        setToken(String(form.get('token')).trim())
        if (!known(await whoAmI())) throw new Error('The server does not know this token.')
      } else {
        await post('/_session', { name: form.get('name'), password: form.get('password') })
      }
      onDone()
    } catch (e) {
      if (byToken) setToken(undefined)
      setError(e instanceof ApiError && e.status === 401 ? e.reason : (e as Error).message)
    } finally {
      setBusy(false)
    }
  }
  return (
    <main class='sign-in'>
      <form onSubmit={submit} aria-labelledby='sign-in-title'>
        <h1 id='sign-in-title'><img src='/_console/icon.svg' alt='' width='24' height='24' /> settee</h1>
        {error && <Notice kind='failed'>{error}</Notice>}
        {byToken
          ? <Field label='Token' hint='A JSON Web Token that the server accepts.'>
              {id => <input id={id} name='token' type='password' autocomplete='off' required />}
            </Field>
          : <>
              <Field label='Name'>{id => <input id={id} name='name' autocomplete='username' required autofocus />}</Field>
              <Field label='Password'>
                {id => <input id={id} name='password' type='password' autocomplete='current-password' required />}
              </Field>
            </>}
        <div class='row'>
          <Button kind='primary' type='submit' busy={busy}>Sign in</Button>
          <Button kind='plain' onClick={() => { setByToken(!byToken); setError(undefined) }}>
            {byToken ? 'With a password' : 'With a token'}
          </Button>
        </div>
      </form>
    </main>
  )
}
