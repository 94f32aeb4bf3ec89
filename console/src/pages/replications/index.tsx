// Replications: what runs, how far it is behind, what is wrong with it; made, paused and deleted.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get, path, post, put, remove } from '../../api'
import { useCommands } from '../../commands'
import { ago, count, moment, plural, rate } from '../../format'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Button, confirm, Empty, Failure, Notice, Page, Split, State, Table, toast } from '../../ui'
import { useLoad, usePoll } from '../../use'
import { Create } from './create'
import { load } from './load'
import { error, inWords, key, lag, shortAddress, speed, tone, withoutSecrets, type Replication, type Sample } from './state'

const EVERY = 2000 // milliseconds between two looks

type Row = Replication & { perSecond: number | undefined, paused?: Paused }

interface Paused {
  id: string
  rev: string
}

export default function Replications () {
  const { user } = useSession()
  const [chosen, choose] = useParam('chosen')
  const [creating, setCreating] = useState(false)
  const all = usePoll(signal => load({ signal }), EVERY, [])
  const paused = useLoad(signal => pausedOnes(signal), [])
  const speeds = useSpeeds(all.value)
  const rows = useMemo<Row[]>(() => [
    ...(all.value ?? []).map(one => ({ ...one, perSecond: speeds.get(key(one)) })), ...paused.value ?? []
  ], [all.value, paused.value, speeds])
  const row = rows.find(one => key(one) === chosen)
  useCommands(useMemo(() => [{ title: 'Create a replication', run: () => setCreating(true) }], []))
  const again = () => {
    all.again()
    paused.again()
  }
  return (
    <Page
      title='Replications' help='replication.md'
      actions={<Button kind='primary' onClick={() => setCreating(true)}>Create replication</Button>}
      status={`${plural(rows.length, 'replication')}, ${count(rows.filter(one => tone(one.state) === 'failed').length)} failing · looked at every ${EVERY / 1000} s`}
    >
      {all.error && !all.value && <Failure error={all.error} doing='Reading the replications' again={all.again} />}
      <Split
        label='Replication' onClose={() => choose(undefined)}
        inspector={row && <Inspector key={key(row)} row={row} again={again} close={() => choose(undefined)} />}
        list={
          <Table
            label='Replications' rows={rows} rowKey={key} chosen={chosen} onChoose={one => choose(key(one))}
            columns={[
              { key: 'state', title: 'State', width: '110px', cell: one => <State tone={tone(one.state)}>{one.state}</State> },
              { key: 'source', title: 'From', width: 'minmax(80px, 2fr)', cell: one => shortAddress(one.source, location.origin) },
              { key: 'target', title: 'To', width: 'minmax(80px, 2fr)', cell: one => shortAddress(one.target, location.origin) },
              { key: 'lag', title: 'Behind', wide: true, cell: one => lag(one.info, one.perSecond) },
              { key: 'written', title: 'Written', width: '90px', numeric: true, cell: one => count(one.info?.docs_written) },
              { key: 'speed', title: 'Documents/s', width: '100px', numeric: true, wide: true, cell: one => rate(one.perSecond) }
            ]}
            empty={all.value && (
              <Empty
                title='No replication' action={<Button kind='primary' onClick={() => setCreating(true)}>Create replication</Button>}
                curl={`curl -u ${user.name ?? 'admin'} -H 'Content-Type: application/json' ${location.origin}/_replicate -d '{"source":"https://old.example.org/orders","target":"orders","create_target":true}'`}
              >
                A replication brings the changes of one database to another, here or on another server, once or for good.
              </Empty>
            )}
          />
        }
      />
      {creating && <Create onClose={() => setCreating(false)} onDone={again} />}
    </Page>
  )
}

// useSpeeds are documents written a second between the last two looks, by replication.
function useSpeeds (all: Replication[] | undefined): Map<string, number> {
  const before = useRef(new Map<string, Sample>())
  const [speeds, set] = useState(new Map<string, number>())
  useEffect(() => {
    if (!all) return
    const at = Date.now()
    const samples = new Map(all.map(one => [key(one), { at, written: one.info?.docs_written ?? 0 }]))
    const next = new Map<string, number>()
    for (const [id, now] of samples) {
      const perSecond = speed(before.current.get(id), now)
      if (perSecond !== undefined) next.set(id, perSecond)
    }
    before.current = samples
    set(next)
  }, [all])
  return speeds
}

interface Definition {
  _id: string
  _rev: string
  source?: string | { url: string }
  target?: string | { url: string }
  _deleted?: boolean
}

// To pause is to delete the document and to leave its definition in the tombstone: every CouchDB stops then, and to
// write it back starts it where its checkpoint is. pausedOnes are those tombstones.
async function pausedOnes (signal: AbortSignal): Promise<Row[]> {
  const { results } = await get<{ results: { doc?: Definition, deleted?: boolean }[] }>(
    '/_replicator/_changes', { include_docs: true, descending: true, limit: 1000 }, { signal, quiet: true })
  const address = (end: Definition['source']) => typeof end === 'string' ? end : end?.url ?? ''
  return results.flatMap(({ doc, deleted }) => deleted && doc?.source
    ? [{
        doc_id: doc._id, database: '_replicator', id: null, source: address(doc.source), target: address(doc.target),
        state: 'paused', info: null, error_count: 0, start_time: null, history: [], perSecond: undefined,
        paused: { id: doc._id, rev: doc._rev }
      }]
    : [])
}

const definition = (id: string, query?: Record<string, unknown>) => get<Definition>(path`/_replicator/${id}`, query)

async function pause (id: string): Promise<void> {
  await put(path`/_replicator/${id}`, { ...await definition(id), _deleted: true })
}

async function resume ({ id, rev }: Paused): Promise<void> {
  // A deleted document is made anew without a revision.
  const { _deleted, _rev, ...body } = await definition(id, { rev })
  await put(path`/_replicator/${id}`, body)
}

function Inspector ({ row, again, close }: { row: Row, again: () => void, close: () => void }) {
  const name = row.doc_id ?? 'of a request'
  const act = async (what: () => Promise<unknown>, done: string) => {
    try {
      await what()
      toast(done)
    } catch (e) {
      toast(e as Error)
    }
    again()
  }
  const drop = async () => {
    if (!await confirm(`Delete the replication ${name}?`, 'It stops, and its definition goes. The databases stay as they are.', 'Delete')) return
    close()
    await act(async () => {
      if (row.paused) await post('/_replicator/_purge', { [row.paused.id]: [row.paused.rev] })
      else if (row.doc_id !== null) await remove(path`/_replicator/${row.doc_id}`, { rev: (await definition(row.doc_id))._rev })
      else await post('/_replicate', { replication_id: row.id, cancel: true })
    }, `${name} was deleted.`)
  }
  const wrong = error(row)
  const { info } = row
  return (
    <>
      <h2>{name}</h2>
      <div class='row'>
        <State tone={tone(row.state)}>{row.state}</State>
        {row.paused
          ? <Button onClick={() => act(() => resume(row.paused!), `${name} goes on.`)}>Resume</Button>
          : row.doc_id !== null && row.state !== 'completed' && row.state !== 'failed' &&
            <Button onClick={() => act(() => pause(row.doc_id!), `${name} is paused.`)}>Pause</Button>}
        <Button kind='danger' onClick={drop}>Delete</Button>
      </div>
      {wrong && <Notice kind='failed'><strong>{inWords(wrong) ?? 'It failed.'}</strong> The server says: {wrong}</Notice>}
      <dl class='facts'>
        <dt>From</dt><dd class='mono'>{withoutSecrets(row.source)}</dd>
        <dt>To</dt><dd class='mono'>{withoutSecrets(row.target)}</dd>
        <dt>Behind</dt><dd>{lag(info, row.perSecond)}</dd>
        <dt>Read, written</dt><dd>{count(info?.docs_read)}, {count(info?.docs_written)}</dd>
        <dt>Refused by the target</dt><dd>{count(info?.doc_write_failures)}</dd>
        <dt>Revisions asked for</dt><dd>{count(info?.revisions_checked)}, of which {count(info?.missing_revisions_found)} were missing</dd>
        <dt>Failures in a row</dt><dd>{count(row.error_count)}</dd>
        {row.start_time && <><dt>Started</dt><dd title={row.start_time}>{moment(Date.parse(row.start_time))}</dd></>}
        {row.node && <><dt>Node</dt><dd class='mono'>{row.node}</dd></>}
      </dl>
      <h2>History</h2>
      <ul class='plain-list'>
        {row.history.map((entry, i) => (
          <li key={i}>
            <span class='muted' title={entry.timestamp}>{ago(Date.parse(entry.timestamp))}</span> {entry.type}
            {entry.reason && <span class='mono'> {entry.reason}</span>}
          </li>
        ))}
        {row.history.length === 0 && <li class='muted'>{row.paused ? 'It is paused.' : 'It is not scheduled.'}</li>}
      </ul>
    </>
  )
}
