// A design document: each function in an editor of its own, with a trial beside it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, docPath, get, put } from '../../api'
import { useCommands } from '../../commands'
import type { DesignDoc } from '../../designs'
import { hold, href, useParam } from '../../router'
import { useDatabaseAdmin } from '../../rights'
import { Button, confirm, Editor, Empty, Failure, Page, toast, type Mark } from '../../ui'
import { useDraft, useLoad } from '../../use'
import { AddFunction } from './add'
import { functionsOf, lineRange, placeOfError, withValue, type FunctionEntry } from './functions'
import { Settings } from './settings'
import { Trial } from './trial'

const WHOLE = 'json' // the place of the document as a whole

interface Whole {
  text: string
  rev: string
}

interface Edited {
  design: DesignDoc
  whole: Whole | undefined
}

const wholeText = ({ _id, _rev, ...rest }: DesignDoc) => JSON.stringify(rest, null, 2)

export function EditDesign ({ db, name }: { db: string, name: string }) {
  const target = docPath(db, `_design/${name}`)
  const loaded = useLoad(signal => get<DesignDoc>(target, undefined, { signal, quiet: true }), [target])
  return loaded.value
    ? <Loaded db={db} name={name} stored={loaded.value} again={loaded.again} />
    : <Page title={name} path={<Path db={db} />}>{loaded.error && <Failure error={loaded.error} doing='Reading the design document' again={loaded.again} />}</Page>
}

const Path = ({ db }: { db: string }) => <><a href={href(['designs'])}>Designs & indexes</a> <a href={href(['designs', db])}>{db}</a></>

function Loaded ({ db, name, stored, again }: { db: string, name: string, stored: DesignDoc, again: () => void }) {
  // The design document, or its text while the whole is edited, with the revision that it is a change of.
  const draft = useDraft<Edited>(useMemo(() => ({ design: stored, whole: undefined }), [stored]))
  const { design, whole } = draft.now
  const setDesign = (design: DesignDoc) => draft.type({ design })
  const saves = useRef<Record<string, string>>({}) // what was typed while it was saved is a change of what was saved
  const [fn, setFn] = useParam('fn')
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const [turn, setTurn] = useState(0)
  const [adding, setAdding] = useState(false)
  const admin = useDatabaseAdmin(db)
  const functions = functionsOf(design)
  const chosen = functions.find(one => one.path.join('/') === fn) ?? (fn === WHOLE ? undefined : functions[0])
  const { unsaved } = draft
  const dirty = unsaved.whole !== undefined || ('design' in unsaved && JSON.stringify(design) !== JSON.stringify(stored))
  useEffect(() => {
    hold(dirty ? () => confirm('Leave without saving?', <p>What you changed in this design document is lost.</p>, 'Leave') : undefined)
    return () => hold(undefined)
  }, [dirty])
  const read = ({ text, rev }: Whole): DesignDoc => ({ ...JSON.parse(text) as DesignDoc, _id: stored._id, _rev: rev })
  const save = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const next = whole === undefined ? design : read(whole)
      const { rev } = await put<{ rev: string }>(docPath(db, stored._id), { ...next, _rev: saves.current[next._rev] ?? next._rev })
      saves.current[next._rev] = rev
      draft.saved({ design, whole })
      toast(`${name} was saved. Changed indexes are built anew.`)
      again()
    } catch (e) {
      setError(e as Error)
      const place = e instanceof ApiError ? placeOfError(e.reason).path : undefined
      if (place && whole === undefined) setFn(place.join('/'))
    } finally {
      setBusy(false)
    }
  }
  const choose = (place: string) => {
    if (whole !== undefined) {
      try {
        draft.type({ design: read(whole), whole: undefined })
      } catch (e) {
        return setError(e as Error)
      }
    }
    setFn(place)
  }
  useCommands(useMemo(() => functions.map(one => ({ title: one.title, hint: `${name}, function`, run: () => setFn(one.path.join('/')) })), [stored]))
  const marks = useMemo(() => marksOf(error, chosen), [error, chosen?.source])
  return (
    <Page
      title={name} path={<Path db={db} />} help='views.md' status={dirty ? 'Changed, not saved' : `Saved, revision ${stored._rev.split('-')[0]}`}
      actions={admin && (
        <>
          <Button onClick={() => setAdding(true)}>Add function</Button>
          <Button kind='primary' busy={busy} disabled={!dirty} title='Ctrl+S' onClick={() => { void save() }}>Save</Button>
        </>
      )}
    >
      {error && <Failure error={error} doing='Saving' />}
      <div class='design-edit'>
        <nav aria-label='Functions' class='functions'>
          {functions.map(one => (
            <button key={one.path.join('/')} type='button' aria-current={one === chosen} onClick={() => choose(one.path.join('/'))}>{one.title}</button>
          ))}
          <button type='button' aria-current={!chosen} onClick={() => choose(WHOLE)}>whole document</button>
        </nav>
        <section class='code-side' aria-label='Code'>
          {chosen
            ? <>
                <Settings design={design} fn={chosen} admin={admin} onChange={setDesign} onRemoved={() => setFn(undefined)} />
                <Editor
                  key={chosen.path.join('/')} label={chosen.title} language='javascript' readOnly={!admin} value={chosen.source} marks={marks}
                  onChange={text => setDesign(withValue(design, chosen.path, text))} onSave={() => { void save() }} onRun={() => setTurn(turn + 1)}
                />
              </>
            : <Editor
                label='Design document' language='json' readOnly={!admin} value={whole?.text ?? wholeText(design)}
                onChange={text => draft.type({ whole: { text, rev: whole?.rev ?? design._rev } })} onSave={() => { void save() }}
              />}
        </section>
        <section class='trial-side' aria-label='Trial'>
          {!admin && <Empty title='Only to read'>Who administers the database changes and tries functions.</Empty>}
          {admin && chosen && <Trial key={chosen.path.join('/')} db={db} design={design} fn={chosen.path} turn={turn} />}
          {admin && !chosen && <Empty title='The whole document'>Its options, lists, shows, rewrites and modules are members here.</Empty>}
        </section>
      </div>
      {adding && <AddFunction design={design} onClose={() => setAdding(false)} onAdd={(next, place) => { setDesign(next); setFn(place) }} />}
    </Page>
  )
}

// marksOf marks the line of a compilation error in the function that it is of.
function marksOf (error: Error | undefined, chosen: FunctionEntry | undefined): Mark[] {
  if (!(error instanceof ApiError) || !chosen) return []
  const { path, line } = placeOfError(error.reason)
  if (line === undefined || path?.join('/') !== chosen.path.join('/')) return []
  return [{ ...lineRange(chosen.source, line), severity: 'error', message: error.reason }]
}
