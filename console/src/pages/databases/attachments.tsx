// The attachments of a document: look at them, take them away, add some.
import { type ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { docPath, failure, remove, send, upload } from '../../api'
import { saveAs } from '../../files'
import { bytes, plural } from '../../format'
import { useParam } from '../../router'
import { Bar, Button, confirm, Empty, Failure, Notice, toast } from '../../ui'
import { useLoad } from '../../use'
import type { Shown } from './inspector'
import { readDoc } from './store'
import type { Written } from './types'

const SHOWN = 256 * 1024 // characters of a text that are shown
const LOADED = 64 * 1024 * 1024 // bytes of an attachment that is loaded to be shown

interface Stub {
  content_type: string
  length: number
  digest: string
  revpos: number
}

interface Sending {
  name: string
  share: number
}

const attachmentPath = (db: string, id: string, name: string) =>
  `${docPath(db, id)}/${name.split('/').map(encodeURIComponent).join('/')}`

export function Attachments (props: Shown) {
  const { db, id, doc, again, onStored } = props
  const stubs = doc._attachments as Record<string, Stub> | undefined ?? {}
  const [chosen, setChosen] = useParam('file')
  const [sending, setSending] = useState<Sending>()
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const rev = useRef(doc._rev as string)
  rev.current = doc._rev as string
  const input = useRef<HTMLInputElement>(null)
  const stored = async () => {
    const now = await readDoc(db, id, {}, { quiet: true })
    onStored([{ id, rev: now._rev as string, doc: now }])
    again()
  }
  const add = async (files: File[]) => {
    stop.current = new AbortController()
    try {
      for (const file of files) {
        setSending({ name: file.name, share: 0 })
        const target = `${attachmentPath(db, id, file.name)}?rev=${rev.current}`
        const written = await upload<Written>(
          target, file, file.type || 'application/octet-stream', share => setSending({ name: file.name, share }), stop.current.signal)
        rev.current = written.rev!
      }
      toast(`${plural(files.length, 'attachment')} added.`)
    } catch (error) {
      if (!stop.current.signal.aborted) toast(error as Error)
    }
    setSending(undefined)
    await stored().catch((error: Error) => toast(error))
  }
  const drop = async (name: string) => {
    const what = <p>{name}, {bytes(stubs[name]!.length)}, goes. The revision before keeps it until the database is compacted.</p>
    if (!await confirm(`Delete ${name}?`, what, 'Delete')) return
    try {
      await remove(attachmentPath(db, id, name), { rev: rev.current })
      toast(`${name} was deleted.`)
      if (chosen === name) setChosen(undefined)
      await stored()
    } catch (error) {
      toast(error as Error)
    }
  }
  const names = Object.keys(stubs).sort()
  return (
    <DropZone onDrop={files => { void add(files) }}>
      <div class='row'>
        <Button kind='primary' busy={sending !== undefined} onClick={() => input.current!.click()}>Add files</Button>
        <span class='muted small'>or drop them here</span>
        <input
          ref={input} type='file' multiple hidden aria-label='Files to add'
          onChange={event => { void add([...event.currentTarget.files ?? []]); event.currentTarget.value = '' }}
        />
      </div>
      {sending && (
        <div class='row'>
          <span>{sending.name}</span><span class='grow'><Bar share={sending.share} label={`Sending ${sending.name}`} /></span>
          <span class='numeric'>{Math.round(sending.share * 100)} %</span>
          <Button kind='plain' onClick={() => stop.current.abort()}>Cancel</Button>
        </div>
      )}
      {names.length === 0 && !sending && <Empty title='No attachment'>Files belong to a document: pictures, recordings, anything with a type.</Empty>}
      <ul class='files'>
        {names.map(name => (
          <li key={name} class={name === chosen ? 'chosen' : undefined}>
            <button type='button' class='link' aria-expanded={name === chosen} onClick={() => setChosen(name === chosen ? undefined : name)}>{name}</button>
            <span class='muted small grow'>{stubs[name]!.content_type}</span>
            <span class='numeric' title={plural(stubs[name]!.length, 'byte')}>{bytes(stubs[name]!.length)}</span>
            <Button kind='plain' label={`Download ${name}`} onClick={() => { void download(db, id, name).catch((error: Error) => toast(error)) }}>Download</Button>
            <Button kind='plain' label={`Delete ${name}`} onClick={() => { void drop(name) }}>Delete</Button>
          </li>
        ))}
      </ul>
      {chosen !== undefined && stubs[chosen] && <Preview key={`${chosen} ${stubs[chosen].digest}`} db={db} id={id} name={chosen} stub={stubs[chosen]} />}
    </DropZone>
  )
}

async function load (db: string, id: string, name: string, signal?: AbortSignal): Promise<Blob> {
  const { answer, sent } = await send(attachmentPath(db, id, name), { signal, headers: { accept: '*/*' }, quiet: signal !== undefined })
  if (!answer.ok) throw await failure(answer, sent)
  return await answer.blob()
}

async function download (db: string, id: string, name: string): Promise<void> {
  saveAs(await load(db, id, name), name.slice(name.lastIndexOf('/') + 1))
}

function Preview ({ db, id, name, stub }: { db: string, id: string, name: string, stub: Stub }) {
  const type = stub.content_type
  const kind = /^image\//.test(type) ? 'image' : /^audio\//.test(type) ? 'audio' : /^video\//.test(type) ? 'video'
    : /^text\/|json|xml|javascript|x-sh|yaml/.test(type) ? 'text' : undefined
  const loads = kind !== undefined && stub.length <= LOADED
  const { value, error } = useLoad(async signal => {
    if (!loads) return undefined
    const blob = await load(db, id, name, signal)
    return { blob, text: kind === 'text' ? await blob.slice(0, SHOWN).text() : '' }
  }, [])
  const url = useMemo(() => value && URL.createObjectURL(value.blob), [value])
  useEffect(() => () => { if (url) URL.revokeObjectURL(url) }, [url])
  if (error) return <Failure error={error} doing={`Reading ${name}`} />
  if (!loads) return <Notice kind='hint'>{kind ? 'It is too large to be shown here' : `There is no preview of ${type}`}: download it.</Notice>
  if (!value) return null
  if (kind === 'image') return <img class='preview' src={url} alt={name} />
  if (kind === 'audio') return <audio class='preview' src={url} controls aria-label={name} />
  if (kind === 'video') return <video class='preview' src={url} controls aria-label={name} />
  return (
    <>
      <pre class='preview' tabIndex={0} aria-label={name}>{value.text}</pre>
      {value.blob.size > SHOWN && <p class='muted small'>Its first {bytes(SHOWN)}.</p>}
    </>
  )
}

/** DropZone takes files that are dropped on what is in it. */
export function DropZone ({ onDrop, children }: { onDrop: (files: File[]) => void, children: ComponentChildren }) {
  const [over, setOver] = useState(false)
  return (
    <div
      class={over ? 'drop over' : 'drop'}
      onDragOver={event => { event.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault()
        setOver(false)
        const files = [...event.dataTransfer?.files ?? []]
        if (files.length > 0) onDrop(files)
      }}
    >
      {children}
    </div>
  )
}
