// What the signed-in user may do with a database.
import { get, path } from './api'
import { useOpened } from './opened'
import { useSession } from './session'
import { useLoad } from './use'

interface Security {
  admins?: { names?: string[], roles?: string[] }
}

/** useDatabaseAdmin says whether the user administers a database; false until that is known. */
export function useDatabaseAdmin (db: string | undefined): boolean {
  const { user } = useSession()
  const security = useLoad(
    async signal => db && !user.admin ? get<Security>(path`/${db}/_security`, undefined, { signal, quiet: true }) : undefined, [db, user])
  useOpened(db, security.value !== undefined)
  if (user.admin) return true
  const { names = [], roles = [] } = security.value?.admins ?? {}
  return (user.name !== null && names.includes(user.name)) || user.roles.some(role => roles.includes(role))
}
