// The design documents and all indexes of a database.
import { useMemo, useState } from 'preact/hooks'
import { docPath, get, path, post, put, remove } from '../../api'
import { useCommands } from '../../commands'
import { shortName, type DesignDoc } from '../../designs'
import { plural } from '../../format'
import { loadDesigns } from '../../load-designs'
import { go, href } from '../../router'
import { useDatabaseAdmin } from '../../rights'
import { useSession } from '../../session'
import { Button, Dialog, Empty, Failure, Field, Menu, Page, confirm, toast } from '../../ui'
import { usePoll } from '../../use'
import { Card } from './card'
import { functionsOf } from './functions'
import { useOf, type Use } from './index-use'
import { indexesOf, KIND_WORDS, type IndexEntry, type MangoIndex, type Task } from './indexes'
import { MakeIndex } from './make'

const POLL = 4000

async function load (db: string, admin: boolean, signal: AbortSignal) {
  const quiet = { signal, quiet: true }
  const [designs, { indexes }, tasks, { designs: used }] = await Promise.all([
    loadDesigns(db, signal), get<{ indexes: MangoIndex[] }>(path`/${db}/_index`, undefined, quiet),
    admin ? get<Task[]>('/_active_tasks', undefined, quiet) : [], get<{ designs: Use[] }>(path`/${db}/_index_use`, undefined, quiet)
  ])
  return { designs, entries: indexesOf(designs, indexes), tasks, used }
}

export function List ({ db }: { db: string }) {
  const { user } = useSession()
  const admin = useDatabaseAdmin(db)
  const loaded = usePoll(signal => load(db, user.admin, signal), POLL, [db, user])
  const [making, setMaking] = useState<'index' | 'design'>()
  const { designs = [], entries = [], tasks = [], used = [] } = loaded.value ?? {}
  useCommands(useMemo(() => admin
    ? [{ title: 'Make an index', hint: db, run: () => setMaking('index') }, { title: 'New design document', hint: db, run: () => setMaking('design') }]
    : [], [db, admin]))
  const clean = async () => {
    try {
      for (const kind of ['_view', '_search', '_nouveau']) await post(path`/${db}/` + `${kind}_cleanup`)
      toast('Indexes that no design document has any more are removed.')
    } catch (error) {
      toast(error as Error)
    }
  }
  return (
    <Page
      title={db} path={<a href={href(['designs'])}>Designs & indexes</a>} help='views.md'
      status={loaded.value && `${plural(designs.length, 'design document')}, ${plural(entries.length, 'index', 'indexes')}`}
      actions={admin && (
        <>
          <Button onClick={() => { void clean() }} title='Remove what no design document has any more'>Clean up</Button>
          <Button onClick={() => setMaking('design')}>New design document</Button>
          <Button kind='primary' onClick={() => setMaking('index')}>Make index</Button>
        </>
      )}
    >
      {loaded.error && !loaded.value && <Failure error={loaded.error} doing='Reading the design documents' again={loaded.again} />}
      {loaded.value && designs.length === 0 && (
        <Empty
          title='No index yet' action={admin && <Button kind='primary' onClick={() => setMaking('index')}>Make index</Button>}
          curl={`curl -u ${user.name ?? 'admin'} ${location.origin}/${encodeURIComponent(db)}/_index -H 'Content-Type: application/json' -d '{"index": {"fields": ["status"]}}'`}
        >
          An index finds documents without reading all of them. Design documents hold views and functions, which compute of documents.
        </Empty>
      )}
      {designs.map(design => (
        <Design
          key={design._id} db={db} design={design} entries={entries.filter(one => `_design/${one.ddoc}` === design._id)} tasks={tasks}
          used={used.find(one => one.ddoc === design._id)}
          admin={admin} again={loaded.again}
        />
      ))}
      {making === 'index' && <MakeIndex db={db} onClose={() => setMaking(undefined)} onMade={loaded.again} />}
      {making === 'design' && <NewDesign db={db} onClose={() => setMaking(undefined)} />}
    </Page>
  )
}

function Design ({ db, design, entries, tasks, used, admin, again }: {
  db: string, design: DesignDoc, entries: IndexEntry[], tasks: Task[], used: Use | undefined, admin: boolean, again: () => void
}) {
  const name = shortName(design._id)
  const functions = functionsOf(design).filter(one => !/^(views|indexes|nouveau)$/.test(one.path[0]!))
  const drop = async () => {
    const gone = [...entries.map(one => `the index ${one.name} (${KIND_WORDS[one.kind]})`), ...functions.map(one => one.title)]
    const what = <><p>With it goes:</p><ul>{gone.map(one => <li key={one}>{one}</li>)}</ul>{gone.length === 0 && <p>It has no index and no function.</p>}</>
    if (!await confirm(`Delete the design document ${name}`, what, 'Delete')) return
    try {
      await remove(docPath(db, design._id), { rev: design._rev })
      toast(`${name} was deleted.`)
      again()
    } catch (error) {
      toast(error as Error)
    }
  }
  return (
    <section class='design' aria-label={`Design document ${name}`}>
      <div class='row'>
        <h2><a href={href(['designs', db, name])}>{name}</a></h2>
        <span class='muted small grow'>{functions.map(one => one.title).join(', ')}</span>
        {admin && <Menu label={`More about ${name}`} items={[{ title: 'Delete the design document', danger: true, run: () => { void drop() } }]}>⋯</Menu>}
      </div>
      <ul class='index-cards'>
        {entries.map(entry => <Card key={`${entry.kind} ${entry.name}`} db={db} entry={entry} tasks={tasks} use={useOf(used, entry)} admin={admin} again={again} />)}
      </ul>
    </section>
  )
}

function NewDesign ({ db, onClose }: { db: string, onClose: () => void }) {
  const [name, setName] = useState('')
  const [error, setError] = useState<Error>()
  const create = async () => {
    try {
      const ddoc = { language: 'javascript', views: { 'by-type': { map: 'function (doc) {\n  emit(doc.type, null)\n}', reduce: '_count' } } }
      await put(docPath(db, `_design/${name}`), ddoc)
      onClose()
      void go(href(['designs', db, name]))
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Dialog
      title='New design document' onClose={onClose} onSubmit={() => { void create() }}
      actions={<><Button kind='plain' onClick={onClose}>Cancel</Button><Button kind='primary' type='submit' disabled={name === ''}>Create</Button></>}
    >
      <Field label='Name' hint='It begins with a view by-type, which you can change.' error={error?.message}>
        {(id, about) => <input id={id} aria-describedby={about} value={name} autofocus onInput={event => setName(event.currentTarget.value)} />}
      </Field>
    </Dialog>
  )
}
