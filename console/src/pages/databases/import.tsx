// Documents out of a file, in parts of bounded size, with what was refused.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, path, post } from '../../api'
import { bytes, plural } from '../../format'
import { Bar, Button, Dialog, Failure, Notice } from '../../ui'
import { DropZone } from './attachments'
import { documentsIn } from './import-parse'
import { writeAll } from './store'
import type { Doc, Written } from './types'

const TOGETHER = 1000 // documents in one request at most
const BYTES = 1 << 20 // characters of JSON in one request, unless one document alone is larger
const LISTED = 200 // refused rows that are listed; the rest are counted

interface Refused {
  at: number
  id?: string | undefined
  why: string
}

interface State {
  read: number
  of: number
  written: number
  failed: number
  refused: Refused[]
  ended: boolean
}

/** Part collects documents until a request is full. */
class Part {
  docs: Doc[] = []
  places: number[] = []
  size = 0

  add (at: number, doc: Doc): void {
    this.docs.push(doc)
    this.places.push(at)
    this.size += JSON.stringify(doc).length
  }

  get full (): boolean {
    return this.size >= BYTES || this.docs.length >= TOGETHER
  }
}

// A revision in the file belongs to the database that it came from.
function withoutRev ({ _rev, ...doc }: Doc): Doc {
  return doc
}

// revisions are those of the documents that are there already.
async function revisions (db: string, docs: Doc[], signal: AbortSignal): Promise<Map<string, string>> {
  const keys = docs.map(doc => doc._id).filter(id => typeof id === 'string')
  const { rows } = await post<{ rows: { id?: string, value?: { rev: string, deleted?: boolean } }[] }>(
    path`/${db}/_all_docs`, { keys }, { signal, quiet: true })
  return new Map(rows.filter(row => row.value && !row.value.deleted).map(row => [row.id!, row.value!.rev]))
}

// writeEach writes documents. A request is refused as a whole where one of them is none to the server: then each half is
// a request of its own, until the one is alone.
async function writeEach (db: string, docs: Doc[], signal: AbortSignal): Promise<Written[]> {
  try {
    return await writeAll(db, docs, { signal, quiet: true })
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 413].includes(error.status)) throw error
    if (docs.length === 1) return [{ ...typeof docs[0]!._id === 'string' && { id: docs[0]!._id }, error: error.error, reason: error.reason }]
    const half = docs.length >> 1
    return [...await writeEach(db, docs.slice(0, half), signal), ...await writeEach(db, docs.slice(half), signal)]
  }
}

// run reads the file and writes its documents. What one row has wrong does not stop the others.
async function run (db: string, file: File, replace: boolean, state: State, signal: AbortSignal, tell: () => void): Promise<void> {
  const refuse = (one: Refused) => {
    state.failed++
    if (state.refused.length < LISTED) state.refused.push(one)
  }
  const pieces = (async function * () {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    const reader = file.stream().getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      state.read += value.length
      yield decoder.decode(value, { stream: true })
    }
  })()
  let part = new Part()
  const flush = async () => {
    if (part.docs.length === 0) return
    const full = part
    part = new Part()
    const found = replace ? await revisions(db, full.docs, signal) : new Map<string, string>()
    for (const doc of full.docs) {
      const rev = found.get(doc._id as string)
      if (rev !== undefined) doc._rev = rev
    }
    const lines = await writeEach(db, full.docs, signal)
    lines.forEach((line, i) => {
      if (line.error === undefined) state.written++
      else refuse({ at: full.places[i]!, id: line.id, why: `${line.reason ?? ''} (${line.error})` })
    })
    tell()
  }
  for await (const one of documentsIn(pieces, file.name)) {
    signal.throwIfAborted()
    if ('error' in one) refuse({ at: one.at, why: one.error })
    else part.add(one.at, withoutRev(one.doc))
    if (part.full) await flush()
  }
  await flush()
}

/** Import is the dialog that takes a file. */
export function Import ({ db, onClose }: { db: string, onClose: () => void }) {
  const [state, setState] = useState<State>()
  const [error, setError] = useState<Error>()
  const [replace, setReplace] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const begin = async (file: File) => {
    stop.current = new AbortController()
    const { signal } = stop.current
    const now: State = { read: 0, of: file.size, written: 0, failed: 0, refused: [], ended: false }
    const tell = () => setState({ ...now })
    setError(undefined)
    tell()
    await run(db, file, replace, now, signal, tell).catch((e: Error) => { if (!signal.aborted) setError(e) })
    now.ended = true
    tell()
  }
  const running = state !== undefined && !state.ended
  return (
    <Dialog
      title={`Import into ${db}`} wide onClose={onClose}
      actions={running
        ? <Button onClick={() => stop.current.abort()}>Cancel</Button>
        : <Button onClick={onClose}>Close</Button>}
    >
      {state === undefined && <Choose replace={replace} onReplace={setReplace} onFile={file => { void begin(file) }} />}
      {state && <Progress state={state} />}
      {error && <Failure error={error} doing='Reading the file' />}
      {state && state.refused.length > 0 && <Refusals state={state} />}
    </Dialog>
  )
}

function Choose ({ replace, onReplace, onFile }: { replace: boolean, onReplace: (replace: boolean) => void, onFile: (file: File) => void }) {
  return (
    <DropZone onDrop={([file]) => onFile(file!)}>
      <p>
        A file with a document of JSON in each line, with an array of documents, or of values separated by commas whose
        first row names the members. Revisions in the file do not count.
      </p>
      <label class='row'>
        <input type='checkbox' checked={replace} onChange={event => onReplace(event.currentTarget.checked)} />
        Replace documents that exist; otherwise they stay as they are and are listed as refused
      </label>
      <label class='field'>
        <span>File (or drop one here)</span>
        <input type='file' accept='.json,.jsonl,.ndjson,.csv,.txt' onChange={event => { const file = event.currentTarget.files?.[0]; if (file) onFile(file) }} />
      </label>
    </DropZone>
  )
}

function Progress ({ state }: { state: State }) {
  const share = state.of === 0 ? 1 : state.read / state.of
  return (
    <Notice kind={state.ended ? 'done' : 'running'}>
      <p>
        {state.ended ? 'Ended: ' : ''}{plural(state.written, 'document')} written
        {state.failed > 0 && `, ${plural(state.failed, 'row')} refused`}, {bytes(state.read)} of {bytes(state.of)} read.
      </p>
      {!state.ended && <Bar share={share} label='Importing' />}
    </Notice>
  )
}

function Refusals ({ state }: { state: State }) {
  return (
    <>
      <table class='refusals' aria-label='Refused rows'>
        <thead><tr><th scope='col'>Row</th><th scope='col'>Id</th><th scope='col'>Why</th></tr></thead>
        <tbody>
          {state.refused.map(one => <tr key={one.at}><td class='numeric'>{one.at}</td><td>{one.id}</td><td>{one.why}</td></tr>)}
        </tbody>
      </table>
      {state.failed > LISTED && <p class='muted small'>and {plural(state.failed - LISTED, 'more row')}</p>}
    </>
  )
}
