// A document as text: edit, save, and what is said where that fails.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, get } from '../../api'
import { useCommands } from '../../commands'
import { hold } from '../../router'
import { Button, confirm, Editor, Failure, Notice, State, toast, type Mark } from '../../ui'
import { useLoad } from '../../use'
import { Difference } from './difference'
import type { InspectorProps } from './inspector'
import { deleteDoc, readDoc, restore, saveText } from './store'
import { memberNamed, parseDoc } from './text'
import { pretty, type Doc } from './types'

interface DocJsonProps extends InspectorProps {
  doc: Doc | undefined
  again: () => void
}

// textOf is the document as it is edited: without what only reading adds.
function textOf (doc: Doc): string {
  const { _conflicts, ...rest } = doc
  return pretty(rest)
}

/** DocJson is the editor of a document, or of a new one. */
export function DocJson (props: DocJsonProps) {
  const { db, source, doc } = props
  const begun = useLoad(signal => doc ? Promise.resolve(textOf(doc)) : newText(db, source!, signal), [doc, source])
  if (begun.error) return <Failure error={begun.error} doing='Copying the document' />
  return begun.value === undefined ? null : <Edit {...props} begin={begun.value} />
}

// newText is what a new document begins with: an id of the server, or a copy of another document without its attachments.
async function newText (db: string, source: string, signal: AbortSignal): Promise<string> {
  const [uuid] = (await get<{ uuids: string[] }>('/_uuids', undefined, { signal, quiet: true })).uuids
  if (source === 'document') return pretty({ _id: uuid, name: '' })
  const { _id, _rev, _attachments, _deleted, ...members } = await readDoc(db, source, {}, { signal, quiet: true })
  const partition = source.includes(':') ? source.slice(0, source.indexOf(':') + 1) : ''
  return pretty({ _id: partition + uuid, ...members })
}

function Edit (props: DocJsonProps & { begin: string }) {
  const { db, id, doc, begin, unsaved, again } = props
  const [base, setBase] = useState(begin)
  const [text, setText] = useState(begin)
  const [failed, setFailed] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const newest = useRef(text)
  newest.current = text
  const dirty = text !== base
  if (begin !== base && !dirty) {
    setBase(begin)
    setText(begin)
  }
  useUnsaved(unsaved, dirty)
  const marks = useMemo(() => marksOf(failed, text), [failed, text])
  const gone = doc?._deleted === true
  const save = async () => {
    const read = parseDoc(text)
    if (!('doc' in read) || busy || (id !== undefined && !dirty)) return
    setBusy(true)
    setFailed(undefined)
    try {
      const rev = await stored(props, read.doc, text)
      setBase(text)
      // What was typed meanwhile is unsaved, and a change of the revision that was made.
      unsaved.current = newest.current !== text
      const before = JSON.stringify(read.doc._rev)
      setText(now => now === text || before === undefined ? now : now.replace(before, JSON.stringify(rev)))
    } catch (error) {
      setFailed(error as Error)
    }
    setBusy(false)
  }
  const conflict = failed instanceof ApiError && failed.status === 409
  return (
    <>
      {gone && <Notice kind='hint'><State tone='deleted'>Deleted</State> What is left of it is below. Saving makes a document of it again.</Notice>}
      {failed && !conflict && <Failure error={failed} doing='Saving' />}
      {conflict && id !== undefined && (
        <Overtaken
          db={db} id={id} mine={text} onTheirs={() => { setFailed(undefined); setText(base); again() }}
          onMine={rev => { setFailed(undefined); setText(pretty({ ...JSON.parse(text) as Doc, _rev: rev })) }}
        />
      )}
      {conflict && id === undefined && <Notice kind='failed'>A document with this id exists: choose another id.</Notice>}
      <Editor label={`JSON of ${id ?? 'the new document'}`} language='json' value={text} readOnly={busy && id === undefined} onChange={setText} onSave={() => { void save() }} marks={marks} />
      <Actions {...props} busy={busy} dirty={dirty} broken={!('doc' in parseDoc(text))} onSave={() => { void save() }} onReset={() => { setText(base); setFailed(undefined); again() }} />
    </>
  )
}

// useUnsaved tells the page and the browser that something would be lost.
function useUnsaved (unsaved: { current: boolean }, dirty: boolean) {
  useEffect(() => {
    unsaved.current = dirty
    hold(dirty ? () => confirm('Leave without saving?', <p>What you changed in this document is lost.</p>, 'Leave') : undefined)
    return () => hold(undefined)
  }, [dirty])
}

// stored saves the text, shows the document under its id, tells the list, and is the revision that was made.
async function stored ({ db, id, unsaved, onShow, onStored, again }: DocJsonProps, doc: Doc, text: string): Promise<string> {
  const name = typeof doc._id === 'string' ? doc._id : ''
  if (id !== undefined && name !== id) throw new Error(`"_id" has to stay ${id}. Use Duplicate for a document with another id.`)
  if (name === '') throw new Error('A document needs an "_id" that is a text.')
  const { rev } = await saveText(db, name, text)
  onStored([{ id: name, rev: rev!, doc: { ...doc, _rev: rev } }])
  toast(`${name} was saved.`)
  unsaved.current = false
  if (id === undefined) await onShow(name)
  else again()
  return rev!
}

function marksOf (failed: Error | undefined, text: string): Mark[] {
  if (!failed) return []
  const message = failed instanceof ApiError ? failed.reason : failed.message
  const piece = memberNamed(message, text)
  return piece ? [{ ...piece, severity: 'error', message }] : []
}

function Actions ({ db, id, doc, busy, dirty, broken, unsaved, onSave, onReset, onShow, onStored }: DocJsonProps & {
  busy: boolean, dirty: boolean, broken: boolean, onSave: () => void, onReset: () => void
}) {
  const drop = async () => {
    const rev = doc!._rev as string
    try {
      const { rev: tombstone } = await deleteDoc(db, id!, rev)
      unsaved.current = false
      onStored([{ id: id!, rev: tombstone!, doc: { _id: id, _deleted: true }, gone: true }])
      await onShow(undefined)
      toast(`${id} was deleted.`, () => {
        restore(db, id!, rev)
          .then(({ rev: back }) => onStored([{ id: id!, rev: back!, doc: { ...doc, _rev: back } }]))
          .catch((error: Error) => toast(error))
      })
    } catch (error) {
      toast(error as Error)
    }
  }
  const duplicate = () => { void onShow(undefined, id) }
  const commands = useRef({ duplicate, drop })
  commands.current = { duplicate, drop }
  useCommands(useMemo(() => id === undefined
    ? []
    : [
        { title: `Duplicate ${id}`, run: () => commands.current.duplicate() },
        { title: `Delete ${id}`, run: () => { void commands.current.drop() } }
      ], [id]))
  return (
    <div class='row'>
      <Button kind='primary' busy={busy} disabled={broken || (id !== undefined && !dirty)} title='Ctrl+S' onClick={onSave}>
        {id === undefined ? 'Create document' : 'Save'}
      </Button>
      {dirty && <Button kind='plain' onClick={onReset}>Undo changes</Button>}
      {broken && <State tone='failed'>not JSON yet</State>}
      {id !== undefined && (
        <>
          <span class='grow' />
          <Button kind='plain' onClick={duplicate}>Duplicate</Button>
          {doc?._deleted !== true && <Button kind='danger' onClick={() => { void drop() }}>Delete</Button>}
        </>
      )}
    </div>
  )
}

// Overtaken says that somebody else has saved meanwhile, shows the difference, and lets one choose.
function Overtaken ({ db, id, mine, onTheirs, onMine }: {
  db: string, id: string, mine: string, onTheirs: () => void, onMine: (rev: string) => void
}) {
  const { value: theirs, error } = useLoad(signal => readDoc(db, id, {}, { signal, quiet: true }), [])
  const [seen, setSeen] = useState(false)
  return (
    <>
      <Notice kind='failed'>
        <strong>Somebody else has saved this document meanwhile</strong>, so that yours was not stored.{' '}
        {error && error.message}
        {theirs && (
          <span class='row'>
            <Button onClick={() => setSeen(!seen)} pressed={seen}>Show the difference</Button>
            <Button onClick={onTheirs}>Load theirs</Button>
            <Button onClick={() => onMine(theirs._rev as string)}>Put mine over theirs</Button>
          </span>
        )}
      </Notice>
      {seen && theirs && <Difference before={textOf(theirs)} after={mine} names={['theirs', 'mine']} />}
    </>
  )
}
