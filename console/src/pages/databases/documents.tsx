// The documents of a database: the page around the list, what was deleted, and what is known of the database.
import { type ComponentChildren } from 'preact'
import { useCallback, useMemo, useRef, useState } from 'preact/hooks'
import { useCommands } from '../../commands'
import { useOpened } from '../../opened'
import { href, useParam } from '../../router'
import { Button, confirm, Menu, Page, Split, Tabs } from '../../ui'
import { useLater, useLoad } from '../../use'
import { About } from './about'
import { Deleted } from './deleted'
import { DocTable, ListStatus } from './doc-table'
import { Export } from './export'
import { Import } from './import'
import { Inspector } from './inspector'
import { readInfo } from './store'
import { parseFilter } from './text'
import type { Filter } from './types'
import { useDocuments } from './use-documents'

const ALL: Filter = { kind: 'all' }
const NONE: ReadonlySet<string> = new Set()

type Part = 'documents' | 'deleted' | 'about'

export function Documents ({ db }: { db: string }) {
  const [param, setPart] = useParam('part')
  const part = (param ?? 'documents') as Part
  const info = useLoad(signal => readInfo(db, signal), [db])
  const perDocument = info.value?.props.access ?? false
  const tabs = (
    <Tabs<Part>
      label='Parts of the database' chosen={part} onChoose={key => setPart(key === 'documents' ? undefined : key)}
      tabs={[{ key: 'documents', title: 'Documents' }, { key: 'deleted', title: 'Deleted' }, { key: 'about', title: 'About' }]}
    />
  )
  const frame = { title: db, help: 'console.md', path: <><a href={href(['databases'])}>Databases</a><span class='muted'>/</span></> }
  if (part === 'deleted') return <Page {...frame}>{tabs}<Deleted db={db} perDocument={perDocument} /></Page>
  if (part === 'about') return <Page {...frame}>{tabs}<About db={db} /></Page>
  return <Listed db={db} perDocument={perDocument} frame={frame} tabs={tabs} />
}

interface ListedProps {
  db: string
  perDocument: boolean
  frame: { title: string, help: string, path: ComponentChildren }
  tabs: ComponentChildren
}

// useFilter is what is typed above the list, and what it means. A selector that is not finished leaves the list as it was.
function useFilter () {
  const [typed, setTyped] = useParam('filter')
  const text = useLater(typed ?? '')
  const read = useMemo(() => parseFilter(text), [text])
  const last = useRef(ALL)
  if ('filter' in read) last.current = read.filter
  return { typed: typed ?? '', setTyped, filter: last.current, broken: 'error' in read ? read : undefined }
}

function Listed ({ db, perDocument, frame, tabs }: ListedProps) {
  const { typed, setTyped, filter, broken } = useFilter()
  const documents = useDocuments(db, filter)
  useOpened(db, documents.took !== undefined)
  const [doc, setDoc] = useParam('doc')
  const [source, setSource] = useParam('new')
  const [marked, setMarked] = useState(NONE)
  const [dialog, setDialog] = useState<'import' | 'export'>()
  const unsaved = useRef(false)
  const leave = useCallback(async () => {
    if (!unsaved.current) return true
    const left = await confirm('Leave without saving?', <p>What you changed in this document is lost.</p>, 'Leave')
    if (left) unsaved.current = false
    return left
  }, [])
  const show = async (id: string | undefined, made?: string) => {
    if (id === doc && made === source) return
    if (!await leave()) return
    setDoc(id)
    setSource(made)
  }
  const newestRev = useMemo(() => documents.rows.find(row => row.id === doc)?.rev, [documents.rows, doc])
  const create = () => { void show(undefined, 'document') }
  const newest = useRef(create)
  newest.current = create
  useCommands(useMemo(() => [
    { title: 'New document', run: () => newest.current() },
    { title: 'Import documents', run: () => setDialog('import') },
    { title: 'Export documents', run: () => setDialog('export') }
  ], []))
  return (
    <Page
      {...frame} status={<ListStatus documents={documents} />}
      actions={
        <>
          <Menu
            label='Import and export'
            items={[{ title: 'Import…', run: () => setDialog('import') }, { title: 'Export…', run: () => setDialog('export') }]}
          />
          <Button kind='primary' onClick={create}>New document</Button>
        </>
      }
    >
      {tabs}
      <Split
        label={doc === undefined ? 'New document' : `Document ${doc}`} onClose={() => { void show(undefined) }}
        list={
          <DocTable
            db={db} documents={documents} typed={typed} onType={setTyped} broken={broken} marked={marked} onMark={setMarked}
            chosen={doc} onChoose={id => { void show(id) }} onNew={create} onExport={() => setDialog('export')}
          />
        }
        inspector={(doc !== undefined || source !== undefined) && (
          <Inspector
            key={doc ?? `new ${source}`} db={db} id={doc} source={source} perDocument={perDocument} newest={newestRev} unsaved={unsaved} onShow={show} onStored={documents.put}
          />
        )}
      />
      {dialog === 'import' && <Import db={db} onClose={() => { setDialog(undefined); documents.again() }} />}
      {dialog === 'export' && <Export db={db} filter={filter} marked={marked} onClose={() => setDialog(undefined)} />}
    </Page>
  )
}
