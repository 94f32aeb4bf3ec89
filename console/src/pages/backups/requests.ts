// The requests of backing up and restoring.
import { ApiError, failure, path, put, send, upload } from '../../api'
import type { Answer, Header } from './archive'

/** backupPath is where the archive of a database is. */
export const backupPath = (db: string, form: Header['form']): string => path`/${db}/_backup?format=${form}`

/** readArchive reads an archive into the browser, for who is signed in by a token: a link cannot send one. */
export async function readArchive (db: string, form: Header['form']): Promise<Blob> {
  const { answer, sent } = await send(backupPath(db, form))
  if (!answer.ok) throw await failure(answer, sent)
  return await answer.blob()
}

/** restore posts an archive: query is what becomes of it. */
export const restore = (db: string, file: Blob, query: string, progress: (share: number) => void, signal: AbortSignal): Promise<Answer> =>
  upload<Answer>(path`/${db}/_restore` + query, file, 'application/x-ndjson', progress, signal, 'POST')

/**
 * makeReady makes the database of a restore if there is none, and says whether it did. Whether it gets the rights and
 * limits of the archive the server decides, as for `settee restore`: an earlier try may have made it.
 */
export async function makeReady (db: string, header: Header, signal: AbortSignal): Promise<boolean> {
  try {
    await put(path`/${db}` + (header.partitioned ? '?partitioned=true' : ''), undefined, { signal })
    return true
  } catch (e) {
    if (e instanceof ApiError && e.status === 412) return false
    throw e
  }
}
