// Explain as a picture: the ways to the documents, what was read of them, and the index that would help.
import { useState } from 'preact/hooks'
import { path, post } from '../../api'
import { count, duration, plural } from '../../format'
import { Bar, Button, Code, Empty, Failure, Notice, State, toast } from '../../ui'
import type { Stats } from './answer'
import { funnelOf, helpfulIndex, pathsOf, type AccessPath, type Explained } from './explain'

interface ExplainProps {
  db: string
  explained: Explained | undefined
  error: Error | undefined
  body: Record<string, unknown>
  stats: Stats | undefined
  /** The statistics of the same query before an index was made. */
  before: Stats | undefined
  /** How many documents the database has. */
  documents: number | undefined
  /** Whether the user may make an index. */
  admin: boolean
  /** Runs the query again after an index was made. */
  onIndexed: () => void
}

/** Explain shows how a query was answered. */
export function Explain (props: ExplainProps) {
  const { explained, stats, before, documents } = props
  if (props.error) return <Failure error={props.error} doing='Explaining' />
  if (!explained) return <Empty title='Nothing explained yet'>Run the query. Mango queries and groups are explained.</Empty>
  const paths = pathsOf(explained, documents)
  const read = stats && Math.max(stats.total_keys_examined, stats.total_docs_examined)
  const most = Math.max(1, read ?? 0, ...paths.map(one => one.estimate ?? 0))
  return (
    <div class='stack explain'>
      <h2>Ways to the documents</h2>
      <ul class='ways'>{paths.map((one, i) => <Way key={i} way={one} read={one.chosen ? read : undefined} most={most} />)}</ul>
      {stats && <Funnel stats={stats} before={before} />}
      <Help {...props} explained={explained} />
      <details><summary>The answer of _explain</summary><Code>{JSON.stringify(explained, null, 2)}</Code></details>
    </div>
  )
}

function Way ({ way, read, most }: { way: AccessPath, read: number | undefined, most: number }) {
  const { estimate, exact } = way
  const said = estimate === undefined ? 'not estimated' : `${exact ? '' : 'about '}${count(estimate)}`
  return (
    <li class={way.chosen ? 'way chosen' : 'way'}>
      <div class='row'>
        <b>{way.title}</b>
        {way.chosen ? <State tone='done'>chosen</State> : <span class='muted'>not chosen</span>}
      </div>
      {way.words && <div class='muted small'>{way.words}</div>}
      {estimate !== undefined && <Measure name='would read' share={estimate / most} words={said} tone='waiting' />}
      {read !== undefined && <Measure name='read' share={read / most} words={count(read)} tone='running' />}
    </li>
  )
}

function Measure ({ name, share, words, tone }: { name: string, share: number, words: string, tone: 'waiting' | 'running' | 'done' }) {
  return (
    <div class='measure small'>
      <span>{name}</span>
      <Bar share={share} label={`${name} ${words}`} tone={tone} />
      <span class='numeric'>{words}</span>
    </div>
  )
}

function Funnel ({ stats, before }: { stats: Stats, before: Stats | undefined }) {
  const steps = funnelOf(stats)
  const earlier = before && funnelOf(before)
  const most = Math.max(1, ...steps.map(step => step.n))
  return (
    <section aria-label='What was read'>
      <h2>From what was read to the answer</h2>
      {steps.map((step, i) => (
        <Measure
          key={step.title} name={step.title} share={step.n / most} tone={i === 2 ? 'done' : 'running'}
          words={earlier ? `${count(earlier[i]!.n)} → ${count(step.n)}` : count(step.n)}
        />
      ))}
      <p class='small muted'>
        {before ? `${duration(before.execution_time_ms)} before, ${duration(stats.execution_time_ms)} now.` : `${duration(stats.execution_time_ms)} in the server.`}
        {stats.total_keys_examined > 0 && stats.total_docs_examined === 0 && ' The index had all that was asked for: no document was read.'}
      </p>
    </section>
  )
}

// Help offers the index that would serve the query, and says what it costs.
function Help ({ db, explained, body, stats, documents, admin, onIndexed }: ExplainProps & { explained: Explained }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const help = helpfulIndex(explained, body)
  const everything = !explained.auto && !explained.aggregate
  if (!help && (!everything || explained.index?.type !== 'special')) {
    return stats ? <Notice kind='done'>No further index would help: the one that serves this query is there.</Notice> : null
  }
  const make = async (index: Record<string, unknown>) => {
    setBusy(true)
    setError(undefined)
    try {
      const { name } = await post<{ name: string }>(path`/${db}/_index`, index)
      toast(`The index ${name} was made.`)
      onIndexed()
    } catch (e) {
      setError(e as Error)
    } finally {
      setBusy(false)
    }
  }
  const fields = help && { index: { fields: help.fields, ...(help.values.length > 0 && { values: help.values }) } }
  return (
    <section class='stack' aria-label='The index that would help'>
      <h2>The index that would help</h2>
      {error && <Failure error={error} doing='Making the index' />}
      {help && fields && (
        <p>
          An index on <b>{help.fields.join(', ')}</b>{help.values.length > 0 && <> that keeps sums of <b>{help.values.join(', ')}</b></>}.
          {' '}To build it, the server reads {documents === undefined ? 'all documents' : plural(documents, 'document')} once.
          From then on each write of a document with these fields changes one more entry, in the same transaction.
        </p>
      )}
      {!help && <p>The selector has no condition that an index on chosen fields could look up.</p>}
      {everything && (
        <p class='muted'>
          An index over all fields serves any query, also those that nobody has thought of; a write then changes an entry
          for each value that is new.
        </p>
      )}
      {admin
        ? <div class='row'>
            {fields && <Button kind='primary' busy={busy} onClick={() => { void make(fields) }}>Make this index and run again</Button>}
            {everything && <Button busy={busy} onClick={() => { void make({ index: {}, type: 'auto' }) }}>Index all fields</Button>}
          </div>
        : <Notice kind='hint'>Who administers the database can make it: <Code>{`POST /${db}/_index ${JSON.stringify(fields ?? { index: {}, type: 'auto' })}`}</Code></Notice>}
    </section>
  )
}
