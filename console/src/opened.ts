// The databases that a user has opened in this browser: names to complete for who is not told those of all.
import { useEffect } from 'preact/hooks'
import { useSession, type User } from './session'

const MOST = 200 // names that are kept for a user

// Each user of the browser has names of their own: a name may say something.
const key = (user: User) => `settee-opened-${user.name ?? ''}`

function kept (user: User): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(key(user)) ?? '[]')
    return Array.isArray(names) ? names.filter(name => typeof name === 'string') : []
  } catch {
    return []
  }
}

/** opened are up to some names that begin with what is typed, the one that was opened last first. */
export const opened = (user: User, typed: string, most: number): string[] =>
  kept(user).filter(name => name.startsWith(typed)).slice(0, most)

/** useOpened keeps the name of a database once the server has shown something of it. */
export function useOpened (db: string | undefined, shown: boolean): void {
  const { user } = useSession()
  useEffect(() => {
    if (user.admin || !db || !shown) return
    localStorage.setItem(key(user), JSON.stringify([db, ...kept(user).filter(name => name !== db)].slice(0, MOST)))
  }, [user, db, shown])
}
