// One document beside the list.
import { type ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { docPath } from '../../api'
import { useDatabaseAdmin } from '../../rights'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Code, Failure, Notice, Tabs } from '../../ui'
import { useLoad } from '../../use'
import { WhoSees } from './access'
import { Attachments } from './attachments'
import { Conflicts } from './conflicts'
import type { Unsaved } from './doc-table'
import { DocJson } from './doc-json'
import { Revisions } from './revisions'
import { readDoc } from './store'
import { generation } from './tree'
import { pretty, type Doc, type Row } from './types'

type Part = 'json' | 'revisions' | 'conflicts' | 'attachments' | 'access' | 'raw'

export interface InspectorProps {
  db: string
  /** Undefined for a new document. */
  id: string | undefined
  /** What a new document is made of: "document", or the id of the one that is copied. */
  source: string | undefined
  /** The database has access for each document. */
  perDocument: boolean
  /** Whether something is typed and not saved. */
  unsaved: Unsaved
  onShow: (id: string | undefined, source?: string) => Promise<void>
  /** The revision that the list has of it, which is newer than the one that is shown where others have changed it. */
  newest: string | undefined
  /** Told of what was stored or deleted, so that the list has it at once. */
  onStored: (rows: Row[]) => void
}

/** What the parts of the inspector share: the document as it was read, and how to read it again. */
export interface Shown extends InspectorProps {
  id: string
  doc: Doc
  again: () => void
}

export function Inspector (props: InspectorProps) {
  const { db, id, unsaved } = props
  const [part, setPart] = useParam('show')
  const shown = (part ?? 'json') as Part
  const administers = useDatabaseAdmin(props.perDocument ? db : undefined)
  const { value: doc, error, again } = useLoad(
    async signal => id === undefined ? undefined : await readDoc(db, id, { conflicts: true }, { signal, quiet: true }), [db, id])
  useEffect(() => () => { unsaved.current = false }, [])
  // What others change is shown at once, but not over what is being typed.
  const overtaken = doc !== undefined && props.newest !== undefined && generation(props.newest) > generation(doc._rev as string)
  useEffect(() => { if (overtaken && !unsaved.current) again() }, [props.newest])
  if (id === undefined) return <DocJson {...props} doc={undefined} again={again} />
  const conflicts = (doc?._conflicts as string[] | undefined)?.length ?? 0
  const files = Object.keys(doc?._attachments ?? {}).length
  return (
    <>
      <Tabs<Part>
        label='Parts of the document' chosen={shown} onChoose={key => setPart(key === 'json' ? undefined : key)}
        tabs={[
          { key: 'json', title: 'JSON' }, { key: 'revisions', title: 'Revisions' },
          { key: 'conflicts', title: `Conflicts${conflicts > 0 ? ` (${conflicts})` : ''}` },
          { key: 'attachments', title: `Attachments${files > 0 ? ` (${files})` : ''}` },
          ...(props.perDocument && administers ? [{ key: 'access' as const, title: 'Access' }] : []), { key: 'raw', title: 'Raw' }
        ]}
      />
      {error && <Failure error={error} doing={`Reading ${id}`} again={again} />}
      {overtaken && unsaved.current && <Notice kind='waiting'>Somebody else has changed this document since you began to change it.</Notice>}
      {doc && <PartOf part={shown} {...props} id={id} doc={doc} again={again} />}
    </>
  )
}

function PartOf ({ part, ...shown }: Shown & { part: Part }): ComponentChildren {
  switch (part) {
    case 'revisions': return <Revisions {...shown} />
    case 'conflicts': return <Conflicts {...shown} />
    case 'attachments': return <Attachments {...shown} />
    case 'access': return <WhoSees {...shown} />
    case 'raw': return <Raw {...shown} />
    default: return <DocJson {...shown} />
  }
}

function Raw ({ db, id, doc }: Shown) {
  const { user } = useSession()
  const [all, setAll] = useState(false)
  const url = location.origin + docPath(db, id)
  const meta = useLoad(signal => readDoc(db, id, { meta: true, local_seq: true, revs: true }, { signal, quiet: true }), [doc])
  const who = `curl -u ${user.name ?? 'admin'}`
  return (
    <div class='stack'>
      <Code label='Read it'>{`${who} '${url}'`}</Code>
      <Code label='Change it'>{`${who} -X PUT '${url}' -H 'Content-Type: application/json' -d '${JSON.stringify(doc).slice(0, 400).replaceAll("'", "'\\''")}'`}</Code>
      <Code label='Delete it'>{`${who} -X DELETE '${url}?rev=${String(doc._rev)}'`}</Code>
      <label class='row'><input type='checkbox' checked={all} onChange={event => setAll(event.currentTarget.checked)} /> With what the server keeps beside it</label>
      {meta.error && <Notice kind='failed'>{meta.error.message}</Notice>}
      <Code label='The document'>{pretty(all ? meta.value ?? doc : doc)}</Code>
    </div>
  )
}
