// A function tried with chosen documents, beside its code.
import { useEffect, useState } from 'preact/hooks'
import { get, path, post } from '../../api'
import type { DesignDoc } from '../../designs'
import { href } from '../../router'
import { Button, Editor, Empty, Failure, Field, State } from '../../ui'

interface Result {
  id: string
  error?: string
  reason?: string
  rows?: { key: unknown, value: unknown }[]
  passes?: boolean
  accepted?: boolean
  doc?: unknown
  response?: unknown
}

interface Answer {
  results: Result[]
  reduce?: { value?: unknown, error?: string, reason?: string }
  list?: { body: string, response?: unknown, error?: string, reason?: string }
}

type Kind = 'map' | 'filter' | 'update' | 'show' | 'list' | 'validate'

const KINDS: Record<string, Kind> = {
  views: 'map', filters: 'filter', updates: 'update', shows: 'show', lists: 'list', validate_doc_update: 'validate'
}

// The kinds of functions that get a request, with the one that they are tried with at first.
const REQUESTS: Partial<Record<Kind, string>> = {
  filter: '{"query": {}}', update: '{"method": "POST", "query": {}, "body": ""}',
  show: '{"query": {}, "headers": {"Accept": "text/html"}}', list: '{"query": {}, "headers": {"Accept": "text/html"}}'
}

const MOST = 20 // documents of one request

/** Trial runs the function at a path of a design document, as it is in the editor, with documents. */
export function Trial ({ db, design, fn, turn }: {
  db: string, design: DesignDoc, fn: string[],
  /** It runs again when this changes: Ctrl+Enter in the editor. */
  turn: number
}) {
  const kind = KINDS[fn[0]!]
  const [ids, setIds] = useState('')
  const [change, setChange] = useState('')
  const [req, setReq] = useState(kind && REQUESTS[kind])
  const [view, setView] = useState('')
  const [user, setUser] = useState('')
  const [roles, setRoles] = useState('')
  const [answer, setAnswer] = useState<Answer>()
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const [opened] = useState(turn) // what was tried before another function was chosen is not tried with this one
  useEffect(() => {
    const stop = new AbortController()
    get<{ rows: { id: string }[] }>(path`/${db}/_all_docs`, { limit: 15 }, { signal: stop.signal, quiet: true })
      .then(({ rows }) => {
        const first = rows.map(row => row.id).filter(id => !id.startsWith('_design/')).slice(0, 5).join('\n')
        setIds(typed => typed === '' ? first : typed)
      }, () => {})
    return () => stop.abort()
  }, [db])
  const run = async () => {
    if (!kind) return
    setBusy(true)
    setError(undefined)
    try {
      setAnswer(await post<Answer>(path`/${db}/_design_test`, {
        ddoc: design, kind, name: fn[1] ?? '', docs: ids.split('\n').map(id => id.trim()).filter(id => id !== '').slice(0, MOST),
        ...(req !== undefined && { req: JSON.parse(req) as unknown }),
        ...(view !== '' && { view }),
        ...(kind === 'validate' && change.trim() !== '' && { doc: JSON.parse(change) as unknown }),
        ...((user || roles) && { user: { name: user || undefined, roles: roles.split(',').map(role => role.trim()).filter(role => role !== '') } })
      }))
    } catch (e) {
      setError(e as Error)
    } finally {
      setBusy(false)
    }
  }
  useEffect(() => { if (turn !== opened) void run() }, [turn])
  if (!kind) return <Empty title='Tried by using it'>Functions of views, filters, updates, shows, lists and validations can be tried here. Save this one, and use it.</Empty>
  return (
    <div class='stack'>
      <Field label='Documents' hint={`Ids, one a line, ${MOST} at the most.`}>
        {(id, about) => <textarea id={id} aria-describedby={about} rows={4} value={ids} onInput={event => setIds(event.currentTarget.value)} />}
      </Field>
      {kind === 'validate' && (
        <div class='trial-doc'>
          <span class='small'>The new document; empty: the stored one is written again</span>
          <Editor label='New document' language='json' value={change} onChange={setChange} onRun={() => { void run() }} />
        </div>
      )}
      {kind === 'list' && (
        <Field label='Rows' hint='What the function gets of these documents.'>
          {(id, about) => (
            <select id={id} aria-describedby={about} value={view} onChange={event => setView(event.currentTarget.value)}>
              <option value=''>the documents, as _all_docs</option>
              {Object.keys(design.views ?? {}).filter(name => name !== 'lib').map(name => <option key={name} value={name}>the view {name}</option>)}
            </select>
          )}
        </Field>
      )}
      {req !== undefined && (
        <Field label='Request' hint='JSON: method, query, headers, form, cookie, body.'>
          {(id, about) => <textarea id={id} aria-describedby={about} rows={2} value={req} onInput={event => setReq(event.currentTarget.value)} />}
        </Field>
      )}
      {kind !== 'map' && (
        <div class='row'>
          <Field label='As user'>{id => <input id={id} value={user} placeholder='me' onInput={event => setUser(event.currentTarget.value)} />}</Field>
          <Field label='With roles'>{id => <input id={id} value={roles} placeholder='editor, _admin' onInput={event => setRoles(event.currentTarget.value)} />}</Field>
        </div>
      )}
      <div class='row'>
        <Button kind='primary' busy={busy} onClick={() => { void run() }}>Try</Button>
        <span class='muted small'>Ctrl+Enter in the code. Nothing is stored.</span>
      </div>
      {error && <Failure error={error} doing='The trial' />}
      {answer && <Results db={db} answer={answer} />}
    </div>
  )
}

function Results ({ db, answer }: { db: string, answer: Answer }) {
  return (
    <section aria-label='Results of the trial' class='stack'>
      {answer.reduce && (
        <div><b>reduce</b> <code class='mono'>{answer.reduce.error ? `${answer.reduce.error}: ${answer.reduce.reason}` : JSON.stringify(answer.reduce.value)}</code></div>
      )}
      {answer.list && (
        <div class='trial'>
          <b>list</b> {answer.list.error && <State tone='failed'>{answer.list.error}: {answer.list.reason}</State>}
          {answer.list.response !== undefined && <pre class='mono'>response {JSON.stringify(answer.list.response)}</pre>}
          {answer.list.body !== '' && <pre class='mono'>{answer.list.body}</pre>}
        </div>
      )}
      <ul class='plain trial'>
        {answer.results.map((result, i) => (
          <li key={`${result.id} ${i}`}>
            <a href={href(['databases', db], { doc: result.id })}>{result.id}</a> <Verdict result={result} />
            {result.rows?.map((row, n) => <pre key={n} class='mono'>{JSON.stringify(row.key)} → {JSON.stringify(row.value)}</pre>)}
            {result.doc !== undefined && <pre class='mono'>{JSON.stringify(result.doc, null, 2)}</pre>}
            {result.response !== undefined && <pre class='mono'>response {JSON.stringify(result.response)}</pre>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Verdict ({ result }: { result: Result }) {
  if (result.error) return <State tone='failed'>{result.error}: {result.reason}</State>
  if (result.accepted) return <State tone='done'>accepted</State>
  if (result.passes !== undefined) return result.passes ? <State tone='done'>passes</State> : <State tone='deleted'>does not pass</State>
  return result.rows ? <span class='muted small'>{result.rows.length === 1 ? '1 row' : `${result.rows.length} rows`}</span> : null
}
