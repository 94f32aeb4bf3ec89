// What the form asks for, as the body of a replication.

export interface End {
  where: 'here' | 'there'
  /** A database of this server. */
  name: string
  /** A database elsewhere. */
  url: string
  user: string
  password: string
}

export interface Wish {
  id: string
  source: End
  target: End
  /** A document of _replicator, which survives restarts, instead of one copy. */
  lasting: boolean
  createTarget: boolean
  /** A selector in JSON, or empty for all documents. */
  part: string
}

/** definition is the body for _replicate, or the document for _replicator. An Error says what is missing. */
export function definition (wish: Wish, origin: string): Record<string, unknown> {
  const body: Record<string, unknown> = {
    source: side(wish.source, wish.lasting, origin, 'From'),
    target: side(wish.target, wish.lasting, origin, 'To'),
    ...(wish.createTarget && { create_target: true }),
    ...(wish.lasting && { continuous: true }),
    ...(wish.lasting && wish.id !== '' && { _id: wish.id })
  }
  if (wish.part.trim() !== '') {
    try {
      body.selector = JSON.parse(wish.part)
    } catch {
      throw new Error('The selector is no JSON.')
    }
  }
  return body
}

// side is one end. Documents of _replicator take addresses only, so that a database of this server is one, too.
function side (end: End, lasting: boolean, origin: string, label: string): unknown {
  if (end.where === 'here' && end.name === '') throw new Error(`${label}: which database?`)
  if (end.where === 'there' && end.url === '') throw new Error(`${label}: at which address?`)
  if (end.where === 'here' && !lasting) return end.name
  const url = end.where === 'here' ? `${origin}/${encodeURIComponent(end.name)}` : end.url
  return end.user === '' ? { url } : { url, auth: { basic: { username: end.user, password: end.password } } }
}
