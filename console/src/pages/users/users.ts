// Users of the server: administrators of its settings and documents of _users.
import { get, path, put, remove, type Options } from '../../api'
import type { Person } from './rights'

const PREFIX = 'org.couchdb.user:'
const ADMINS = '/_node/_local/_config/admins'

export interface UserDoc {
  _id: string
  _rev: string
  name: string
  roles: string[]
  type: 'user'
  password?: string
}

export interface User extends Person {
  /** An administrator of the settings; such a name needs no document. */
  admin: boolean
  /** Undefined for an administrator who is in the settings alone. */
  doc: UserDoc | undefined
}

/** load reads up to 1,000 users whose names begin with a prefix, administrators of the settings among them. */
export async function load (prefix: string, options: Options = {}): Promise<User[]> {
  const quiet = { ...options, quiet: true }
  const [admins, { rows }] = await Promise.all([
    get<Record<string, string>>(ADMINS, undefined, quiet),
    get<{ rows: { doc: UserDoc }[] }>('/_users/_all_docs', {
      include_docs: true, start_key: PREFIX + prefix, end_key: `${PREFIX}${prefix}\ufff0`, limit: 1000
    }, quiet)
  ])
  const users = rows.map(({ doc }): User => {
    const admin = doc.name in admins
    return { name: doc.name, roles: admin ? [...doc.roles, '_admin'] : doc.roles, admin, doc }
  })
  const named = new Set(users.map(user => user.name))
  const rest = Object.keys(admins).filter(name => !named.has(name) && name.startsWith(prefix))
  return [...rest.map((name): User => ({ name, roles: ['_admin'], admin: true, doc: undefined })), ...users]
    .sort((a, b) => a.name < b.name ? -1 : 1)
}

/** create makes a user: in the settings for an administrator, a document of _users for everybody else. */
export async function create (name: string, password: string, roles: string[], admin: boolean): Promise<void> {
  if (admin) await put(ADMINS + path`/${name}`, password)
  else await put(path`/_users/${PREFIX + name}`, { name, password, roles, type: 'user' })
}

/** save writes roles and, if it is not empty, a new password. */
export async function save (user: User, roles: string[], password: string): Promise<void> {
  if (user.doc) {
    await put(path`/_users/${user.doc._id}`, { ...user.doc, roles, ...(password !== '' && { password }) })
  } else if (password !== '') await put(ADMINS + path`/${user.name}`, password)
}

/** drop deletes a user everywhere. */
export async function drop (user: User): Promise<void> {
  if (user.admin) await remove(ADMINS + path`/${user.name}`)
  if (user.doc) await remove(path`/_users/${user.doc._id}`, { rev: user.doc._rev })
}
