// The list of documents: what it is filtered by, its columns, its rows.
import { useMemo, useState } from 'preact/hooks'
import { count, duration, plural } from '../../format'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Bar, Button, confirm, Dialog, Empty, Failure, Table, toast, type Column } from '../../ui'
import { deleteAll, gone, restoreAll, type Deleted } from './bulk'
import { body, inOneLine, memberAt, membersOf } from './columns'
import { memberNamed, type Broken } from './text'
import type { Row } from './types'
import type { Documents } from './use-documents'

const SAMPLE = 100 // documents whose members can be columns
const COLUMNS = 4 // members that are shown where nobody has chosen others

interface DocTableProps {
  db: string
  documents: Documents
  typed: string
  onType: (text: string | undefined) => void
  broken: Broken | undefined
  chosen: string | undefined
  onChoose: (id: string) => void
  onNew: () => void
  marked: ReadonlySet<string>
  onMark: (ids: Set<string>) => void
  onExport: () => void
}

export function DocTable (props: DocTableProps) {
  const { documents, chosen, onChoose } = props
  const [view, setView] = useParam('view')
  const [picked, setPicked] = useParam('columns')
  const [picking, setPicking] = useState(false)
  // The members of the first documents, as long as those stay the first.
  const found = useMemo(() => membersOf(documents.rows.slice(0, SAMPLE)), [documents.rows[0]?.rev, Math.min(SAMPLE, documents.rows.length)])
  const members = picked?.split(',') ?? found.slice(0, COLUMNS)
  const asJson = view === 'json'
  const columns: Column<Row>[] = [
    { key: '_id', title: 'Id', width: asJson ? 'minmax(120px, 1fr)' : 'minmax(120px, 2fr)', cell: row => <span class='mono'>{row.id}</span> },
    ...asJson
      ? [{ key: 'json', title: 'Document', width: 'minmax(120px, 3fr)', cell: asLine }]
      : members.map((member, i) => ({ key: member, title: member, wide: i > 1, cell: cellOf(member) }))
  ]
  return (
    <>
      <Filters {...props} />
      <div class='row doc-tools'>
        <Button kind='plain' pressed={!asJson} onClick={() => setView(undefined)}>Table</Button>
        <Button kind='plain' pressed={asJson} onClick={() => setView('json')}>JSON</Button>
        {!asJson && found.length > 0 && <Button kind='plain' onClick={() => setPicking(true)}>Columns</Button>}
        {props.marked.size > 0 && <Marked {...props} />}
        {documents.unseen > 0 && <Button kind='plain' onClick={documents.again}>{`Show ${plural(documents.unseen, 'new document')}`}</Button>}
      </div>
      {documents.error && <Failure error={documents.error} doing='Reading the documents' again={documents.again} />}
      <Table
        label='Documents' rows={documents.rows} rowKey={row => row.id} columns={columns} chosen={chosen} more={documents.more}
        onChoose={row => onChoose(row.id)} marked={props.marked} onMark={props.onMark}
        rowClass={row => row.gone ? 'gone' : documents.fresh.has(row.id) ? 'fresh' : undefined}
        empty={documents.busy ? <p class='muted'>Reading…</p> : documents.error ? <></> : <NoDocument {...props} />}
      />
      {picking && <Picker found={found} chosen={members} onChoose={names => setPicked(names.join(','))} onClose={() => setPicking(false)} />}
    </>
  )
}

// Marked is what can be done with the rows that are marked.
function Marked ({ db, documents, marked, onMark, onExport }: DocTableProps) {
  const [done, setDone] = useState<number>()
  const drop = async () => {
    const ids = [...marked]
    const what = plural(ids.length, 'document')
    if (!await confirm(`Delete ${what}?`, <p>{what} of {db} go. They can be brought back until the database is compacted.</p>, `Delete ${what}`)) return
    setDone(0)
    try {
      const { deleted, failed } = await deleteAll(db, ids, setDone)
      documents.put(gone(deleted))
      onMark(new Set(failed.map(line => line.id!)))
      toast(`${plural(deleted.length, 'document')} deleted.`, () => { void back(deleted) })
      if (failed[0]) toast(new Error(`${plural(failed.length, 'document')} not deleted: ${failed[0].reason ?? failed[0].error}`))
    } catch (error) {
      toast(error as Error)
    }
    setDone(undefined)
  }
  const back = async (deleted: Deleted[]) => {
    const failed = await restoreAll(db, deleted)
    toast(failed === 0
      ? `${plural(deleted.length, 'document')} restored.`
      : new Error(`${plural(failed, 'document')} could not be brought back.`))
    documents.again()
  }
  return (
    <>
      <span class='grow' />
      {done === undefined
        ? <span class='muted small'>{plural(marked.size, 'document')} marked</span>
        : <span class='small'>{count(done)} of {count(marked.size)} <Bar share={done / marked.size} label='Deleting' /></span>}
      <Button kind='plain' onClick={onExport}>Export marked</Button>
      <Button kind='danger' busy={done !== undefined} onClick={() => { void drop() }}>Delete marked</Button>
    </>
  )
}

const asLine = (row: Row) => row.gone ? 'deleted' : <span class='mono'>{inOneLine(body(row.doc))}</span>

const cellOf = (member: string) => (row: Row) => {
  const value = memberAt(row.doc, member)
  return <span class={typeof value === 'string' ? undefined : 'mono'}>{inOneLine(value)}</span>
}

// Filters is the field above the list. A selector that is broken, or that the server refuses, says where.
function Filters ({ typed, onType, broken, documents }: DocTableProps) {
  const refused = documents.error && typed.trim().startsWith('{') ? memberNamed(documents.error.message, typed) : undefined
  const at = broken?.at ?? refused?.from
  return (
    <div class='doc-filter'>
      <input
        type='search' class='grow mono' aria-label='Filter by id or selector' placeholder='Begin of an id, or a selector: {"total": {"$gt": 100}}'
        value={typed} spellcheck={false} aria-invalid={at !== undefined} aria-describedby={at === undefined ? undefined : 'doc-filter-error'}
        onInput={event => onType(event.currentTarget.value)}
      />
      {at !== undefined && (
        <div id='doc-filter-error' class='small doc-filter-error' role='alert'>
          {broken ? broken.error : documents.error!.message}, at character {count(at + 1)}:{' '}
          <code>{typed.slice(Math.max(0, at - 20), at)}<mark>{typed.slice(at, refused?.to ?? at + 1) || '…'}</mark></code>
        </div>
      )}
    </div>
  )
}

function NoDocument ({ db, typed, onType, onNew }: DocTableProps) {
  const { user } = useSession()
  if (typed) {
    return <Empty title='No document fits' action={<Button onClick={() => onType(undefined)}>Show all</Button>}>The filter above takes none of them.</Empty>
  }
  const url = `${location.origin}/${encodeURIComponent(db)}`
  return (
    <Empty
      title='No document yet' action={<Button kind='primary' onClick={onNew}>New document</Button>}
      curl={`curl -u ${user.name ?? 'admin'} -X POST ${url} -H 'Content-Type: application/json' -d '{"total": 12}'`}
    >
      A document is an object of JSON with an id. It needs no schema; each change makes a new revision.
    </Empty>
  )
}

function Picker ({ found, chosen, onChoose, onClose }: {
  found: string[], chosen: string[], onChoose: (names: string[]) => void, onClose: () => void
}) {
  const names = [...new Set([...chosen, ...found])]
  const toggle = (name: string) => onChoose(chosen.includes(name) ? chosen.filter(one => one !== name) : [...chosen, name])
  const add = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    const name = event.currentTarget.value.trim()
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (name && !names.includes(name)) onChoose([...chosen, name])
    event.currentTarget.value = ''
  }
  return (
    <Dialog title='Columns' onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      {names.map(name => (
        <label key={name} class='row'><input type='checkbox' checked={chosen.includes(name)} onChange={() => toggle(name)} />{name}</label>
      ))}
      <input aria-label='Another member' placeholder='Another member: address.city, then Enter' onKeyDown={add} />
    </Dialog>
  )
}

/** ListStatus is the line below the list: how many, how quick, by which index, and whether changes come in. */
export function ListStatus ({ documents }: { documents: Documents }) {
  const { rows, more, took, index, warning, live } = documents
  return (
    <>
      {plural(rows.length, 'document')}{more && ' and more'}
      {took !== undefined && ` · ${duration(Math.round(took))}`}
      {index && ` · index ${index}`}
      {' · '}<span class={live ? 'live-dot' : undefined}>{live ? 'live' : 'not live'}</span>
      {warning && <> · {warning}</>}
    </>
  )
}

/** Whether something in the inspector is not saved. */
export interface Unsaved { current: boolean }
