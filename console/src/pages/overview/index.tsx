// Overview: the last hour of a node in plots, what runs now, what needs somebody to act, and the nodes beside each other.
import { useEffect, useRef, useState } from 'preact/hooks'
import { get, path } from '../../api'
import { ago, bytes, duration, moment, plural } from '../../format'
import { useParam } from '../../router'
import { Failure, Notice, Page, Table } from '../../ui'
import { usePoll } from '../../use'
import { daysLeft, join, latest, tall, type Overview as Data } from './overview'
import { Plots } from './plots'
import { Tasks } from './tasks'

const EVERY = 5000 // milliseconds between two looks; the server takes a sample every ten seconds
const DOCS = 'https://github.com/settee-db/settee/blob/main/'

// useOverview follows one node: the last hour at first, then what is new.
function useOverview (node: string) {
  const [all, set] = useState<Data>()
  const newest = useRef<Data>(undefined)
  const loaded = usePoll(async signal => {
    const since = newest.current?.times.at(-1)
    return await get<Data>(path`/_node/${node}/_overview`, { since }, { signal, quiet: true })
  }, EVERY, [node])
  useEffect(() => {
    if (!loaded.value) return
    newest.current = join(newest.current, loaded.value)
    set(newest.current)
  }, [loaded.value])
  return { ...loaded, all }
}

export default function Overview () {
  const [chosen, choose] = useParam('node')
  return <NodeHour key={chosen} chosen={chosen} choose={node => choose(node, true)} />
}

function NodeHour ({ chosen, choose }: { chosen: string | undefined, choose: (node: string) => void }) {
  const overview = useOverview(chosen ?? '_local')
  const members = usePoll(signal => get<{ all_nodes: string[] }>('/_membership', undefined, { signal, quiet: true }), 30_000, [])
  const nodes = members.value?.all_nodes ?? []
  const { all } = overview
  return (
    <Page
      title='Overview' help='operations.md'
      status={all && `${all.node} · ${all.version} · up since ${moment(all.started * 1000)} · looked at every ${EVERY / 1000} s`}
    >
      {overview.error && !all && <Failure error={overview.error} doing='Reading the overview' again={overview.again} />}
      {all && <Warnings all={all} />}
      {all && <Facts all={all} />}
      {nodes.length > 1 && <Nodes names={nodes} chosen={chosen ?? all?.node} choose={choose} />}
      <Tasks />
      {all && (all.times.length > 0
        ? <Plots all={all} />
        : <p class='muted'>The first sample comes ten seconds after the start.</p>)}
    </Page>
  )
}

function Warnings ({ all }: { all: Data }) {
  const warnings = all.warnings ?? []
  if (warnings.length === 0) return <Notice kind='done'>Nothing needs you.</Notice>
  return (
    <div class='stack' role='region' aria-label='Warnings'>
      {warnings.map(warning => (
        <Notice key={`${warning.id} ${warning.subject}`} kind={warning.severity === 'critical' ? 'failed' : 'waiting'}>
          <strong>{warning.subject && `${warning.subject}: `}{warning.text}</strong> {warning.do}{' '}
          <a href={DOCS + warning.doc} target='_blank' rel='noreferrer'>Manual<span class='hidden'>: {warning.id.replaceAll('_', ' ')}</span></a>
        </Notice>
      ))}
    </div>
  )
}

// Facts answer what one asks first: is there room, is there memory, how busy is it.
function Facts ({ all }: { all: Data }) {
  const free = latest(all, 'store_volume_free_bytes')
  const days = daysLeft(all)
  const facts: [string, string, string?][] = [
    ['Requests', `${(latest(all, 'requests_per_second') ?? 0).toFixed(1)}/s`],
    ['Slowest of a hundred', duration(latest(all, 'latency_p99_ms'))],
    ['Memory', bytes(latest(all, 'memory_resident_bytes')), `of ${bytes(all.limits.memory_bytes)} for the heap`],
    ['Store', bytes(latest(all, 'store_disk_bytes'))],
    ['Free on its disk', bytes(free), days !== undefined && days < 365 ? `full in ${duration(days * 86_400_000)} at this pace` : `of ${bytes(all.limits.store_volume_bytes)}`],
    ['Feeds', plural(latest(all, 'feeds') ?? 0, 'feed'), plural(latest(all, 'connections') ?? 0, 'connection')]
  ]
  return (
    <dl class='tiles'>
      {facts.map(([name, value, more]) => <div key={name}><dt>{name}</dt><dd>{value}</dd>{more && <dd class='muted small'>{more}</dd>}</div>)}
    </dl>
  )
}

interface Row {
  name: string
  data: Data | undefined
  error: Error | undefined
}

// Nodes beside each other; one that does not answer says so.
function Nodes ({ names, chosen, choose }: { names: string[], chosen: string | undefined, choose: (node: string) => void }) {
  const rows = usePoll(signal => Promise.all(names.map(async (name): Promise<Row> => {
    try {
      const since = Math.floor(Date.now() / 1000) - 60
      return { name, data: await get<Data>(path`/_node/${name}/_overview`, { since }, { signal, quiet: true }), error: undefined }
    } catch (error) {
      return { name, data: undefined, error: error as Error }
    }
  })), EVERY, [names.join()])
  const cell = (say: (data: Data) => string) => (row: Row) => row.data ? say(row.data) : '–'
  const known = rows.value ?? []
  return (
    <div class='short-list' ref={tall(known.length)}>
      <Table
        label='Nodes' rows={known} rowKey={row => row.name} chosen={chosen} onChoose={row => choose(row.name)}
        columns={[
          { key: 'name', title: 'Node', width: '2fr', cell: row => row.name },
          {
            key: 'state', title: 'State', width: '2fr',
            cell: row => row.error ? `away: ${row.error.message}` : `up ${ago((row.data?.started ?? 0) * 1000).replace(' ago', '')}, ${plural(row.data?.warnings?.length ?? 0, 'warning')}`
          },
          { key: 'requests', title: 'Requests/s', numeric: true, cell: cell(data => (latest(data, 'requests_per_second') ?? 0).toFixed(1)) },
          { key: 'latency', title: 'p95', numeric: true, cell: cell(data => duration(latest(data, 'latency_p95_ms'))) },
          { key: 'memory', title: 'Memory', numeric: true, wide: true, cell: cell(data => bytes(latest(data, 'memory_resident_bytes'))) },
          { key: 'feeds', title: 'Feeds', numeric: true, wide: true, cell: cell(data => String(latest(data, 'feeds') ?? 0)) }
        ]}
      />
    </div>
  )
}
