// Archives of databases: what the first line of one says, and what the server's answer means in words.
import { plural } from '../../format'

/** What the first line of an archive says. couchbackup's older files name no database. */
export interface Header {
  form: 'settee' | 'couchbackup'
  db?: string
  partitioned: boolean
}

/** What POST /{db}/_restore answers; the members of differences are there after a comparison only. */
export interface Answer {
  documents: number
  revisions: number
  attachments: number
  differing?: number
  differences?: { id: string, rev: string, differs: string }[]
}

/** headerOf reads the first line of an archive; undefined for what is no archive. */
export function headerOf (line: string): Header | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (Array.isArray(value)) return { form: 'couchbackup', partitioned: false }
  const { name, db, partitioned } = (value ?? {}) as { name?: unknown, db?: unknown, partitioned?: unknown }
  if (name === '@cloudant/couchbackup') return { form: 'couchbackup', partitioned: false }
  if (name !== 'settee') return undefined
  return { form: 'settee', partitioned: partitioned === true, ...(typeof db === 'string' && { db }) }
}

const FIRST = 1 << 20 // bytes that the first line may have: it holds the security object

/** headerIn reads the header of a file. */
export async function headerIn (file: Blob): Promise<Header | undefined> {
  const text = await file.slice(0, FIRST).text()
  const end = text.indexOf('\n')
  return headerOf(end < 0 ? text : text.slice(0, end))
}

/** contents says how much an archive has. */
export const contents = ({ documents, revisions, attachments }: Answer): string =>
  `${plural(documents, 'document')}, ${plural(revisions, 'revision')} and ${plural(attachments, 'attachment')}`

/** fileOf is the name of the file that a database is saved in. */
export const fileOf = (db: string, format: Header['form']): string =>
  `${db.replaceAll('/', '-')}.${format === 'settee' ? 'settee' : 'backup'}`
