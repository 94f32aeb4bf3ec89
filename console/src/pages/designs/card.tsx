// One index: its state, how far it is, its size, what it cannot hold, and what can be done with it.
import { useState } from 'preact/hooks'
import { ApiError, get, path, remove } from '../../api'
import { ago, bytes, count, duration, moment, plural } from '../../format'
import { href } from '../../router'
import { Bar, Button, Failure, State, confirm, toast } from '../../ui'
import { useLoad, usePoll } from '../../use'
import {
  allFieldsState, KIND_WORDS, progressOf, searchState, viewState, type IndexEntry, type IndexState, type Task
} from './indexes'
import type { IndexUse } from './index-use'

const ERRORS = 10 // documents of an error list that a card shows
const POLL = 3000

// Which API an index is asked by.
function api (entry: IndexEntry): '_search' | '_nouveau' | undefined {
  if (entry.kind === 'search' || entry.mango?.type === 'text') return '_search'
  if (entry.kind === 'nouveau' || entry.mango?.type === 'nouveau') return '_nouveau'
  return undefined
}

async function stateOf (db: string, entry: IndexEntry, signal: AbortSignal): Promise<IndexState> {
  const options = { signal, quiet: true }
  const way = api(entry)
  if (entry.kind === 'auto') return allFieldsState(entry.mango!)
  if (way) {
    try {
      return searchState(await get(path`/${db}/_design/${entry.ddoc}/` + way + path`_info/${entry.name}`, undefined, options))
    } catch (error) {
      // Nothing is known of an index that nobody has asked yet.
      if (error instanceof ApiError && error.status === 404) return { tone: 'waiting', word: 'not built yet' }
      throw error
    }
  }
  return viewState(await get(path`/${db}/_design/${entry.ddoc}/_info`, undefined, options))
}

interface Errors {
  errors: { id: string, error: string }[]
}

const errorsOf = (db: string, entry: IndexEntry, signal: AbortSignal) => get<Errors>(
  path`/${db}/_design/${entry.ddoc}/` + (api(entry) ?? '_view') + path`_errors/${entry.name}`, { limit: ERRORS + 1 }, { signal, quiet: true })

/** Card shows an index. again reloads the list after something was changed. */
export function Card ({ db, entry, tasks, use, admin, again }: {
  db: string, entry: IndexEntry, tasks: Task[], use: IndexUse | undefined, admin: boolean, again: () => void
}) {
  const info = usePoll(signal => stateOf(db, entry, signal), POLL, [db, entry.ddoc, entry.name, entry.mango?.state])
  const errors = useLoad(
    async signal => entry.kind === 'auto' ? { errors: [] } : await errorsOf(db, entry, signal), [db, entry.ddoc, entry.name, info.value?.word])
  const progress = progressOf(tasks, db, entry.ddoc)
  const state = info.value
  const bad = errors.value?.errors ?? []
  return (
    <li class='index-card' aria-label={`${entry.ddoc}/${entry.name}`}>
      <div class='row'>
        <b class='grow'>{entry.name}</b>
        <span class='muted small'>{KIND_WORDS[entry.kind]}</span>
      </div>
      <div class='small muted'>{entry.about}</div>
      {info.error && !state && <Failure error={info.error} doing='Asking for its state' />}
      {state && (
        <div class='row small'>
          <State tone={progress ? 'running' : state.tone}>{progress ? 'building' : state.word}</State>
          <span title={state.bytes === undefined ? undefined : plural(state.bytes, 'byte')}>{bytes(state.bytes)}</span>
          {state.reason && <span>{state.reason}</span>}
        </div>
      )}
      {progress && (
        <div class='row small'>
          <span class='grow'><Bar share={progress.share} label={`Build of ${entry.name}`} /></span>
          {Math.round(progress.share * 100)} %{progress.left !== undefined && `, about ${duration(progress.left * 1000)} left`}
        </div>
      )}
      {use && (
        <div class='small' title={moment(use.at)}>
          {use.idle ? <State tone='waiting'>not used for {duration(Date.now() - use.at)}</State> : `${use.used ? 'used' : 'not used since it was made'} ${ago(use.at)}`}
        </div>
      )}
      {bad.length > 0 && <BadDocuments db={db} bad={bad} total={state?.errors} />}
      {entry.kind === 'auto' && (state?.errors ?? 0) > 0 && <p class='small'>{plural(state!.errors!, 'document')} with too many values: every query looks at them.</p>}
      <Actions db={db} entry={entry} admin={admin} again={again} built={() => { info.again(); errors.again() }} />
    </li>
  )
}

function BadDocuments ({ db, bad, total }: { db: string, bad: Errors['errors'], total: number | undefined }) {
  const number = total !== undefined && total > 0 ? count(total) : bad.length > ERRORS ? `more than ${ERRORS}` : String(bad.length)
  return (
    <details class='small'>
      <summary><State tone='failed'>cannot hold {number} {bad.length === 1 ? 'document' : 'documents'}</State></summary>
      <ul class='plain'>
        {bad.slice(0, ERRORS).map(({ id, error }) => (
          <li key={id}><a href={href(['databases', db], { doc: id })}>{id}</a>: {error}</li>
        ))}
      </ul>
    </details>
  )
}

function Actions ({ db, entry, admin, again, built }: { db: string, entry: IndexEntry, admin: boolean, again: () => void, built: () => void }) {
  const [busy, setBusy] = useState(false)
  const { kind, ddoc, name } = entry
  const way = kind === 'view' ? '_view' : kind === 'search' || kind === 'nouveau' ? `_${kind}` : undefined
  const run = async (doing: () => Promise<unknown>, then: () => void) => {
    setBusy(true)
    try {
      await doing()
      then()
    } catch (error) {
      toast(error as Error)
    } finally {
      setBusy(false)
    }
  }
  const build = () => run(
    () => get(path`/${db}/_design/${ddoc}/` + way! + path`/${name}`, kind === 'view' ? { limit: 0, update: 'lazy', reduce: false } : { q: '*:*', limit: 1 }),
    () => { toast(kind === 'view' ? `${name} is being built.` : `${name} is up to date.`); built() })
  const drop = async () => {
    const what = `The index on ${entry.about} goes. Queries that used it read other indexes or all documents.`
    if (!await confirm(`Delete the index ${name}`, what, 'Delete')) return
    await run(() => remove(path`/${db}/_index/${ddoc}/${entry.mango!.type}/${name}`), () => { toast(`The index ${name} was deleted.`); again() })
  }
  return (
    <div class='row'>
      {way && <Button busy={busy} onClick={() => { void build() }} label={`Build now: ${name}`}>Build now</Button>}
      {way && <a class='small' href={href(['queries'], { db, kind: kind === 'view' ? 'view' : 'search', of: `${ddoc}/${way}/${name}` })}>Query</a>}
      {way && <a class='small' href={href(['designs', db, ddoc], { fn: kind === 'view' ? `views/${name}/map` : `${kind === 'search' ? 'indexes' : 'nouveau'}/${name}/index` })}>Edit</a>}
      {!way && admin && <Button kind='danger' busy={busy} label={`Delete ${name}`} onClick={() => { void drop() }}>Delete</Button>}
    </div>
  )
}
