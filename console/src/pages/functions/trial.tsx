// A test: a handler runs on one event, and what it would write is shown.
import { useState, type Dispatch, type StateUpdater } from 'preact/hooks'
import { Button, Code, Field, Notice, State } from '../../ui'
import { words, type FunctionApi, type Plan, type Trial as Answer } from './api'

const KINDS = { id: 'A document of the source', doc: 'A document as given here', delete: 'A deletion', timer: 'A timer' }

type Kind = keyof typeof KINDS

interface Wish {
  kind: Kind
  id: string
  doc: string
  timer: string
  context: string
}

// eventOf is the event as the API takes it.
function eventOf ({ kind, id, doc, timer, context }: Wish): unknown {
  const json = (what: string, text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch (error) {
      throw new Error(`The ${what} is no JSON: ${(error as Error).message}`)
    }
  }
  switch (kind) {
    case 'id': return { id }
    case 'doc': return { id: id || 'test', doc: json('document', doc) }
    case 'delete': return { id: id || 'test', delete: true }
    case 'timer': return { timer, context: json('context', context) }
  }
}

/** Trial runs the stored code on an event; goTo shows a line of it. */
export function Trial ({ api, goTo }: { api: FunctionApi, goTo: (line: number) => void }) {
  const [wish, setWish] = useState<Wish>({ kind: 'id', id: '', doc: '{\n  \n}', timer: '', context: '{}' })
  const [answer, setAnswer] = useState<Answer>()
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    setAnswer(undefined)
    setError(undefined)
    try {
      setAnswer(await api.test(eventOf(wish)))
    } catch (e) {
      setError(words(e as Error))
    }
    setBusy(false)
  }
  return (
    <div class='columns wide'>
      <form class='stack' onSubmit={submit}>
        <p class='muted small'>Runs the code as it is stored, deployed or not. Writes and timers are shown and not applied; requests to other servers are made.</p>
        <Inputs wish={wish} setWish={setWish} />
        <div class='row'><Button kind='primary' type='submit' busy={busy}>Run</Button></div>
      </form>
      <div class='stack' aria-live='polite'>
        {error && <Notice kind='failed'>{error}</Notice>}
        {answer && <Outcome answer={answer} goTo={goTo} />}
      </div>
    </div>
  )
}

function Inputs ({ wish, setWish }: { wish: Wish, setWish: Dispatch<StateUpdater<Wish>> }) {
  const set = (change: Partial<Wish>) => setWish({ ...wish, ...change })
  const { kind } = wish
  return (
    <>
      <Field label='Event'>
        {id => (
          <select id={id} value={kind} onChange={event => set({ kind: event.currentTarget.value as Kind })}>
            {Object.entries(KINDS).map(([key, title]) => <option key={key} value={key}>{title}</option>)}
          </select>
        )}
      </Field>
      {kind !== 'timer' && <Field label='Id of the document'>{id => <input id={id} value={wish.id} onInput={event => set({ id: event.currentTarget.value })} />}</Field>}
      {kind === 'doc' && (
        <Field label='Document (JSON)'>{id => <textarea id={id} rows={8} spellcheck={false} value={wish.doc} onInput={event => set({ doc: event.currentTarget.value })} />}</Field>
      )}
      {kind === 'timer' && (
        <>
          <Field label='Callback' hint='The name of a function in the code.'>
            {(id, about) => <input id={id} aria-describedby={about} value={wish.timer} onInput={event => set({ timer: event.currentTarget.value })} />}
          </Field>
          <Field label='Context (JSON)'>{id => <textarea id={id} rows={4} spellcheck={false} value={wish.context} onInput={event => set({ context: event.currentTarget.value })} />}</Field>
        </>
      )}
    </>
  )
}

const times = ({ times, documents }: Plan) => `${times === 1 ? 'once' : `${times} times`}, ${documents} documents`

// read says how a statement came to its documents.
function read (plan: Plan): string {
  switch (plan.way) {
    case 'ids': return `by ids, ${times(plan)}`
    case 'index': return `by the index ${plan.index}, ${times(plan)}`
    case 'scan': return `a scan of all documents, ${times(plan)}`
    case 'unindexed': return 'the join finds no index for its condition and scans'
  }
}

const pretty = (value: unknown) => JSON.stringify(value, null, 2)

function Outcome ({ answer, goTo }: { answer: Answer, goTo: (line: number) => void }) {
  const { outcome, error, log, writes, timers, statements } = answer
  return (
    <>
      <h2><State tone={outcome === 'success' ? 'done' : 'failed'}>{outcome}</State> after {(answer.took_us / 1000).toFixed(2)} ms</h2>
      {error && (
        <Notice kind='failed'>
          {error.name}: {error.message} {error.line > 0 && <Button kind='plain' onClick={() => goTo(error.line)}>Line {error.line}</Button>}
        </Notice>
      )}
      <h2>Writes</h2>
      {writes.length === 0 && <p class='muted'>None.</p>}
      {writes.map((write, i) => (
        <div key={i}>
          <span class='mono'>{write.database}/{write.id}</span> {write.deleted && 'deleted'}
          {write.refused && <span class='wrong' role='alert'> refused: {write.refused}</span>}
          {!write.deleted && <Code>{pretty(write.doc)}</Code>}
        </div>
      ))}
      <h2>Timers</h2>
      {timers.length === 0 && <p class='muted'>None.</p>}
      {timers.map((timer, i) => (
        <div key={i}><span class='mono'>{timer.callback} {timer.reference}</span> {timer.cancelled ? 'cancelled' : timer.due} {timer.context !== undefined && <Code>{pretty(timer.context)}</Code>}</div>
      ))}
      <h2>Statements</h2>
      {statements.length === 0 && <p class='muted'>None.</p>}
      {statements.map((statement, i) => (
        <div key={i}>
          <pre>{statement.text}</pre>
          <ul class='plain-list'>
            {statement.plan.map((plan, at) => (
              <li key={at}>{plan.way === 'scan' || plan.way === 'unindexed' ? <State tone='waiting'>{plan.keyspace}: {read(plan)}</State> : `${plan.keyspace}: ${read(plan)}`}</li>
            ))}
          </ul>
        </div>
      ))}
      <h2>Log</h2>
      {log.length === 0 ? <p class='muted'>Nothing.</p> : <pre>{log.join('\n')}</pre>}
    </>
  )
}
