// Who may do what in a database: the rules of its security object (couch_db:check_is_admin, check_is_member).

export interface Group {
  names: string[]
  roles: string[]
}

/** A security object. Further members belong to applications and stay as they are. */
export interface Security {
  admins?: Partial<Group>
  members?: Partial<Group>
  [further: string]: unknown
}

export interface Person {
  name: string
  roles: string[]
}

export type Level = 'server' | 'admin' | 'member' | 'none'

export const group = (part: Partial<Group> | undefined): Group => ({ names: part?.names ?? [], roles: part?.roles ?? [] })

const within = (who: Person, part: Group): boolean =>
  part.names.includes(who.name) || who.roles.some(role => part.roles.includes(role))

/** isPublic: a database without names and roles of members is open to everybody who reaches the server. */
export function isPublic (security: Security): boolean {
  const members = group(security.members)
  return members.names.length === 0 && members.roles.length === 0
}

/** levelOf is what somebody may do in a database. */
export function levelOf (who: Person, security: Security): Level {
  if (who.roles.includes('_admin')) return 'server'
  if (within(who, group(security.admins))) return 'admin'
  if (isPublic(security) || within(who, group(security.members))) return 'member'
  return 'none'
}

export const WORDS: Record<Level, string> = {
  server: 'everything, as an administrator of the server',
  admin: 'reads, writes, changes designs and rights',
  member: 'reads and writes documents',
  none: 'nothing'
}

/** because says which name or role gives somebody a level. */
export function because (who: Person, security: Security): string {
  const level = levelOf(who, security)
  if (level === 'server') return 'administers the server'
  if (level === 'none') return 'neither the name nor a role is listed'
  const part = group(level === 'admin' ? security.admins : security.members)
  if (part.names.includes(who.name)) return 'by name'
  const role = who.roles.find(one => part.roles.includes(one))
  return role === undefined ? 'the database is open to everybody' : `by role ${role}`
}

/** list reads names or roles that are separated by commas or spaces. */
export function list (text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(one => one !== ''))]
}
