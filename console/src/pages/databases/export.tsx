// Documents into a file: read in parts, which the browser keeps outside of the page's memory.
import { useEffect, useRef, useState } from 'preact/hooks'
import { bytes, plural } from '../../format'
import { Bar, Button, Dialog, Failure, Notice } from '../../ui'
import { useLoad } from '../../use'
import { saveAs } from '../../files'
import { membersOf } from './columns'
import { csvHeader, csvRow } from './csv'
import { readChunk, readInfo, readNow } from './store'
import type { Doc, Filter, Row } from './types'

const CHUNK = 500 // documents that are read at once

type Format = 'jsonl' | 'csv'
type Which = 'all' | 'filtered' | 'marked'

interface ExportProps {
  db: string
  filter: Filter
  marked: ReadonlySet<string>
  onClose: () => void
}

// chunks reads what is exported, part by part.
async function * chunks ({ db, filter, marked }: ExportProps, which: Which, signal: AbortSignal): AsyncGenerator<Row[]> {
  if (which === 'marked') {
    const ids = [...marked]
    for (let at = 0; at < ids.length; at += CHUNK) yield [...(await readNow(db, ids.slice(at, at + CHUNK), signal)).values()]
    return
  }
  let after: string | undefined
  do {
    const { rows, next } = await readChunk(db, which === 'all' ? { kind: 'all' } : filter, after, signal, CHUNK)
    yield rows
    after = next
  } while (after !== undefined)
}

// plain is a document as another database takes it: its revision belongs to this one, and the bytes of attachments stay here.
function plain ({ _rev, _attachments, ...doc }: Doc): Doc {
  return doc
}

async function write (props: ExportProps, which: Which, format: Format, signal: AbortSignal, tell: (done: number, size: number) => void): Promise<Blob> {
  const parts: Blob[] = []
  let size = 0
  const add = (text: string) => {
    const part = new Blob([text])
    size += part.size
    parts.push(part)
  }
  let names: string[] = []
  if (format === 'csv') {
    // The first line names the members of all documents, so that they are read once before.
    const found = new Set<string>()
    for await (const rows of chunks(props, which, signal)) for (const name of membersOf(rows)) found.add(name)
    names = ['_id', ...found]
    add(csvHeader(names))
  }
  let done = 0
  for await (const rows of chunks(props, which, signal)) {
    add(rows.map(row => format === 'csv' ? csvRow(row.doc, names) : JSON.stringify(plain(row.doc)) + '\n').join(''))
    done += rows.length
    tell(done, size)
  }
  return new Blob(parts, { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' })
}

/** Export is the dialog that makes a file of documents. */
export function Export (props: ExportProps) {
  const { db, filter, marked, onClose } = props
  const { value: info } = useLoad(signal => readInfo(db, signal), [])
  const filtered = filter.kind !== 'all'
  const [which, setWhich] = useState<Which>(marked.size > 0 ? 'marked' : filtered ? 'filtered' : 'all')
  const [format, setFormat] = useState<Format>('jsonl')
  const [state, setState] = useState<{ done: number, size: number, ended: boolean }>()
  const [error, setError] = useState<Error>()
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const begin = async () => {
    stop.current = new AbortController()
    const { signal } = stop.current
    setError(undefined)
    setState({ done: 0, size: 0, ended: false })
    try {
      const blob = await write(props, which, format, signal, (done, size) => setState({ done, size, ended: false }))
      saveAs(blob, `${db.replaceAll('/', '-')}.${format}`)
      setState(before => ({ ...before!, ended: true }))
    } catch (e) {
      setState(undefined)
      if (!signal.aborted) setError(e as Error)
    }
  }
  const running = state !== undefined && !state.ended
  const expected = which === 'marked' ? marked.size : which === 'all' ? info?.doc_count : undefined
  const option = (value: Which, title: string) => (
    <label class='row'><input type='radio' name='which' checked={which === value} disabled={running} onChange={() => setWhich(value)} />{title}</label>
  )
  return (
    <Dialog
      title={`Export from ${db}`} onClose={onClose} onSubmit={() => { if (!running) void begin() }}
      actions={running
        ? <Button onClick={() => stop.current.abort()}>Cancel</Button>
        : <><Button kind='plain' onClick={onClose}>Close</Button><Button kind='primary' type='submit'>Export</Button></>}
    >
      <fieldset class='choices'>
        <legend>Which</legend>
        {option('all', 'All documents')}
        {filtered && option('filtered', 'Those that the filter takes')}
        {marked.size > 0 && option('marked', `The ${plural(marked.size, 'marked document')}`)}
      </fieldset>
      <fieldset class='choices'>
        <legend>As</legend>
        <label class='row'><input type='radio' name='format' checked={format === 'jsonl'} disabled={running} onChange={() => setFormat('jsonl')} />JSON, a line for each document</label>
        <label class='row'><input type='radio' name='format' checked={format === 'csv'} disabled={running} onChange={() => setFormat('csv')} />Values separated by commas (CSV)</label>
      </fieldset>
      <p class='muted small'>Without the bytes of attachments and without replaced revisions: a backup has attachments, conflicts and settings as well.</p>
      {state && (
        <Notice kind={state.ended ? 'done' : 'running'}>
          <p>{state.ended && 'Ended: '}{plural(state.done, 'document')}, {bytes(state.size)}.</p>
          {running && expected !== undefined && expected > 0 && <Bar share={state.done / expected} label='Exporting' />}
        </Notice>
      )}
      {error && <Failure error={error} doing='Exporting' />}
    </Dialog>
  )
}
