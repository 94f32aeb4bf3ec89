// The documents of a database: the page around the list, what was deleted, and what is known of the database.
import { useCallback, useMemo, useRef } from 'preact/hooks'
import { useCommands } from '../../commands'
import { href, useParam } from '../../router'
import { Button, confirm, Page, Split } from '../../ui'
import { useLater } from '../../use'
import { DocTable, ListStatus } from './doc-table'
import { Inspector } from './inspector'
import { parseFilter } from './text'
import type { Filter } from './types'
import { useDocuments } from './use-documents'

const ALL: Filter = { kind: 'all' }

export function Documents ({ db }: { db: string }) {
  const [typed, setTyped] = useParam('filter')
  const text = useLater(typed ?? '')
  const read = useMemo(() => parseFilter(text), [text])
  // A selector that is not finished leaves the list as it was.
  const last = useRef(ALL)
  if ('filter' in read) last.current = read.filter
  const documents = useDocuments(db, last.current)
  const [doc, setDoc] = useParam('doc')
  const [source, setSource] = useParam('new')
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
  const create = useMemo(() => () => { void show(undefined, 'document') }, [doc, source])
  useCommands(useMemo(() => [{ title: 'New document', run: create }], [create]))
  return (
    <Page
      title={db} path={<><a href={href(['databases'])}>Databases</a><span class='muted'>/</span></>} help='console.md'
      actions={<Button kind='primary' onClick={create}>New document</Button>}
      status={<ListStatus documents={documents} />}
    >
      <Split
        label={doc === undefined ? 'New document' : `Document ${doc}`} onClose={() => { void show(undefined) }}
        list={
          <DocTable
            db={db} documents={documents} typed={typed ?? ''} onType={setTyped} broken={'error' in read ? read : undefined}
            chosen={doc} onChoose={id => { void show(id) }} onNew={create}
          />
        }
        inspector={(doc !== undefined || source !== undefined) && (
          <Inspector
            key={doc ?? `new ${source}`} db={db} id={doc} source={source} unsaved={unsaved} onShow={show} onStored={documents.put}
          />
        )}
      />
    </Page>
  )
}
