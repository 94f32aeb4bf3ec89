// Queries: one editor for all kinds, its results beside it.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, get, path } from '../../api'
import { useCommands } from '../../commands'
import { searchesOf, viewsOf } from '../../designs'
import { count, duration, plural } from '../../format'
import { loadDesigns } from '../../load-designs'
import { go, href, useParam } from '../../router'
import { useSession } from '../../session'
import { Button, DatabaseInput, Editor, Empty, Failure, Notice, Page, Tabs } from '../../ui'
import { useLoad, useStored } from '../../use'
import { Output } from './output'
import { OptionsForm } from './form'
import { KINDS, kindOf, type Kind, type Query } from './kinds'
import { membersOf, wordsOf } from './members'
import { markOf } from './place'
import { useRun, type Run } from './run'
import { remember, type Ran, type Saved } from './saved'
import { titleOf } from './explain'

const SAMPLE = 50 // documents whose members the editor offers

async function sample (db: string, signal: AbortSignal) {
  const query = { include_docs: true, limit: SAMPLE }
  const { rows } = await get<{ rows: { doc?: Record<string, unknown> | null }[] }>(path`/${db}/_all_docs`, query, { signal, quiet: true })
  return membersOf(rows.flatMap(({ doc }) => doc && !String(doc._id).startsWith('_design/') ? [doc] : []))
}

export default function Queries () {
  const [db = '', setDb] = useParam('db')
  const [kindParam, setKind] = useParam('kind')
  const [of, setOf] = useParam('of')
  const [ran] = useParam('q')
  const [shows] = useParam('show')
  const entry = kindOf(kindParam)
  const [drafts, setDrafts] = useState<Partial<Record<Kind, string>>>({ [entry.kind]: ran })
  const text = drafts[entry.kind] ?? entry.first
  const setText = (next: string) => setDrafts(all => ({ ...all, [entry.kind]: next }))
  const [history, setHistory] = useStored<Ran[]>('queries-history', [])
  const [saved, setSaved] = useStored<Saved>('queries-saved', {})

  const members = useLoad(async signal => db ? sample(db, signal) : [], [db])
  const designs = useLoad(async signal => db ? loadDesigns(db, signal) : [], [db])
  const choices = useMemo(
    () => entry.kind === 'view' ? viewsOf(designs.value ?? []) : entry.kind === 'search' ? searchesOf(designs.value ?? []) : undefined,
    [designs.value, entry.kind])
  const chosen = choices && (of && choices.includes(of) ? of : designs.value ? choices[0] : of)
  const complete = useMemo(() => wordsOf(entry.kind, members.value ?? []), [entry.kind, members.value])

  const query: Query = { kind: entry.kind, db, of: chosen, text }
  const runner = useRun(run => {
    setHistory(remember(history, { ...run.query, at: Date.now(), rows: run.rows.length, ms: run.ms }))
  })
  const place = (one: Query) => href(['queries'], { db: one.db, kind: one.kind, of: one.of, q: one.text, show: shows === 'history' ? undefined : shows })
  const start = (one: Query) => {
    void go(place(one), true)
    runner.start(one)
  }
  const show = (one: Query) => {
    setDrafts(all => ({ ...all, [one.kind]: one.text }))
    start(one)
  }
  // A link to a query runs it.
  useEffect(() => { if (ran && db) runner.start({ kind: entry.kind, db, of, text: ran }) }, [])
  useCommands(useMemo(() => KINDS.map(one => ({ title: `Query: ${one.title}`, hint: db, to: href(['queries'], { db, kind: one.kind }) })), [db]))
  const wrong = runner.error
  const marks = useMemo(() => {
    const mark = wrong instanceof ApiError ? markOf(text, wrong.reason) : undefined
    return mark ? [mark] : []
  }, [wrong, text])
  return (
    <Page
      title='Queries' help={entry.help} status={<Status run={runner.run} busy={runner.busy} />}
      actions={<DatabaseInput value={db} onChoose={name => setDb(name)} />}
    >
      <div class='query'>
        <section class='ask' aria-label='Query'>
          <Tabs label='Kind of query' tabs={KINDS.map(one => ({ key: one.kind, title: one.title }))} chosen={entry.kind} onChoose={key => setKind(key)} />
          {choices && <Choice what={entry.kind} choices={choices} chosen={chosen} onChoose={setOf} db={db} known={designs.value !== undefined} />}
          <Editor
            key={entry.kind} label={`${entry.title} query`} language='json' value={text} onChange={setText} onRun={() => start(query)}
            marks={marks} complete={complete}
          />
          <div class='row'>
            <Button kind='primary' title='Ctrl+Enter' disabled={db === ''} onClick={() => start(query)}>Run</Button>
            {runner.busy && <Button onClick={runner.cancel}>Cancel</Button>}
            <span class='muted small'>Ctrl+Enter runs</span>
          </div>
          <OptionsForm options={entry.options} text={text} onChange={setText} />
        </section>
        <section class='answer' aria-label='Results'>
          {db === '' && <NoDatabase />}
          {wrong && <Failure error={wrong} doing='The query' />}
          {runner.run?.page.warning && !wrong && <Notice kind='waiting'>{runner.run.page.warning}</Notice>}
          {db !== '' && (
            <Output
              runner={runner} query={query} history={history} saved={saved} setHistory={setHistory} setSaved={setSaved} onOpen={show}
            />
          )}
        </section>
      </div>
    </Page>
  )
}

function Choice ({ what, choices, chosen, onChoose, db, known }: {
  what: Kind, choices: string[], chosen: string | undefined, onChoose: (of: string) => void, db: string, known: boolean
}) {
  if (choices.length === 0) {
    return known && db !== ''
      ? <p class='muted'>{db} has no {what === 'view' ? 'view' : 'index of full-text search'} yet. <a href={href(['designs', db])}>Make one</a></p>
      : null
  }
  return (
    <label class='row'>
      {what === 'view' ? 'View' : 'Index'}
      <select class='grow' value={chosen} onChange={event => onChoose(event.currentTarget.value)}>
        {choices.map(one => <option key={one} value={one}>{one.replace('/_view/', ' / ').replace(/\/_(search|nouveau)\/(.*)$/, ' / $2 ($1)')}</option>)}
      </select>
    </label>
  )
}

function NoDatabase () {
  const { user } = useSession()
  return (
    <Empty
      title='Choose a database' action={<a href={href(['databases'])}>All databases</a>}
      curl={`curl -u ${user.name ?? 'admin'} ${location.origin}/orders/_find -H 'Content-Type: application/json' -d '{"selector": {"status": "paid"}}'`}
    >
      A query finds documents by what is in them, adds them up, or searches their words.
    </Empty>
  )
}

function Status ({ run, busy }: { run: Run | undefined, busy: boolean }) {
  if (busy) return <>Running…</>
  if (!run) return <>Not run yet</>
  const { rows, page, ms, explained } = run
  const total = page.total === undefined ? '' : ` of ${count(page.total)}`
  const index = explained?.aggregate ? `plan ${explained.aggregate.plan}` : explained?.index ? titleOf(explained.index) : undefined
  return <>{plural(rows.length, 'row')}{total} · {duration(ms)}{index && ` · ${index}`}{page.bookmark && ' · there are more'}</>
}
