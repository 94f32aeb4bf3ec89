// What was deleted, the newest first, and how it comes back.
import { useState } from 'preact/hooks'
import { path, post, type Change } from '../../api'
import { plural } from '../../format'
import { useDatabaseAdmin } from '../../rights'
import { useParam } from '../../router'
import { Button, Code, Empty, Failure, Notice, Split, Table, toast } from '../../ui'
import { useLoad } from '../../use'
import { WhoSees } from './access'
import { readDoc, restore } from './store'
import type { Kept } from './tree'
import { pretty, type Doc } from './types'

const PAGE = 200

interface Page {
  results: Change[]
  last_seq: string
}

const readDeleted = (db: string, limit: number, signal: AbortSignal): Promise<Page> =>
  post<Page>(path`/${db}/_changes`, { selector: { _deleted: true } }, {
    query: { filter: '_selector', descending: true, limit }, signal, quiet: true
  })

/** Deleted lists deleted documents. More are read by asking for a longer list, since this feed goes backwards. */
export function Deleted ({ db, perDocument }: { db: string, perDocument: boolean }) {
  const administers = useDatabaseAdmin(perDocument ? db : undefined)
  const [limit, setLimit] = useState(PAGE)
  const [chosen, setChosen] = useParam('gone')
  const { value, error, again, busy } = useLoad(signal => readDeleted(db, limit, signal), [db, limit])
  const rows = value?.results ?? []
  const more = value !== undefined && rows.length === limit && !busy ? () => setLimit(limit + PAGE * 5) : undefined
  return (
    <Split
      label={`Deleted document ${chosen}`} onClose={() => setChosen(undefined)}
      list={
        <>
          {error && <Failure error={error} doing='Reading what was deleted' again={again} />}
          <Table
            label='Deleted documents' rows={rows} rowKey={row => row.id} chosen={chosen} onChoose={row => setChosen(row.id)} more={more}
            columns={[
              { key: 'id', title: 'Id', width: 'minmax(120px, 2fr)', cell: row => <span class='mono'>{row.id}</span> },
              { key: 'rev', title: 'Tombstone', wide: true, cell: row => <span class='mono'>{row.changes[0]!.rev}</span> }
            ]}
            empty={busy
              ? <p class='muted'>Reading…</p>
              : <Empty title='Nothing was deleted'>What is deleted stands here, and comes back by a click as long as compaction has not removed it.</Empty>}
          />
        </>
      }
      inspector={chosen !== undefined && <Tombstone key={chosen} db={db} id={chosen} whoSees={perDocument && administers} onBack={() => { setChosen(undefined); again() }} />}
    />
  )
}

// lastBody finds the newest revision before the tombstone whose body is there.
async function lastBody (db: string, id: string, signal: AbortSignal): Promise<{ tombstone: Doc, body: Doc | undefined }> {
  const { _revs_info, ...tombstone } = await readDoc(db, id, { revs_info: true }, { signal, quiet: true })
  const found = (_revs_info as { rev: string, status: Kept }[]).find(info => info.status === 'available')
  return { tombstone, body: found && await readDoc(db, id, { rev: found.rev }, { signal, quiet: true }) }
}

function Tombstone ({ db, id, whoSees, onBack }: { db: string, id: string, whoSees: boolean, onBack: () => void }) {
  const { value, error } = useLoad(signal => lastBody(db, id, signal), [])
  const [busy, setBusy] = useState(false)
  if (error) return <Failure error={error} doing={`Reading ${id}`} />
  if (!value) return null
  const { tombstone, body } = value
  const bring = async () => {
    setBusy(true)
    try {
      await restore(db, id, body!._rev as string)
      toast(`${id} is back.`)
      onBack()
    } catch (e) {
      toast(e as Error)
      setBusy(false)
    }
  }
  const files = Object.keys(body?._attachments ?? {}).length
  return (
    <>
      <h2 class='mono'>{id}</h2>
      {body
        ? <>
            <div class='row'>
              <Button kind='primary' busy={busy} onClick={() => { void bring() }}>Restore</Button>
              <span class='muted small'>as it was before it was deleted{files > 0 && `, with ${plural(files, 'attachment')}`}</span>
            </div>
            <Code label='As it was'>{pretty(body)}</Code>
          </>
        : <Notice kind='hint'>Compaction has removed its body. A backup or a replica may have it.</Notice>}
      <Code label='What is left'>{pretty(tombstone)}</Code>
      {whoSees && <WhoSees db={db} id={id} doc={tombstone} />}
    </>
  )
}
