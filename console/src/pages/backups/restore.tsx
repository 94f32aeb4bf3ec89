// An archive of a file into a database, or compared with one.
import { useEffect, useRef, useState } from 'preact/hooks'
import { plural } from '../../format'
import { href } from '../../router'
import { Bar, Button, DatabaseInput, Failure, Field, Notice } from '../../ui'
import { contents, headerIn, type Answer, type Header } from './archive'
import { makeReady, restore } from './requests'

const LISTED = 20 // differences that are shown

type Doing = 'Restoring' | 'Comparing'

interface Chosen {
  file: File
  header: Header | undefined
}

interface Outcome {
  db: string
  /** It was to be restored, not only compared. */
  writes: boolean
  /** The database was made for it. */
  made?: boolean
  restored?: Answer
  compared?: Answer
}

/** Restore takes a file and a database. Restoring compares afterwards, as `settee restore` does. */
export function Restore () {
  const [chosen, setChosen] = useState<Chosen>()
  const [db, setDb] = useState('')
  const [running, setRunning] = useState<{ doing: Doing, share: number }>()
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState<{ doing: Doing, error: Error }>()
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const take = async (file: File | undefined) => {
    setOutcome(undefined)
    setError(undefined)
    if (!file) return setChosen(undefined)
    const header = await headerIn(file)
    setChosen({ file, header })
    if (header?.db) setDb(now => now || header.db!) // not over a name that was typed
  }
  const begin = async (writes: boolean) => {
    const { file, header } = chosen!
    const { signal } = stop.current = new AbortController()
    setOutcome(undefined)
    setError(undefined)
    let doing: Doing = writes ? 'Restoring' : 'Comparing'
    const pass = async (query: string) => {
      setRunning({ doing, share: 0 })
      return await restore(db, file, query, share => { if (!signal.aborted) setRunning({ doing, share }) }, signal)
    }
    const reached: Outcome = { db, writes }
    try {
      if (writes) {
        setRunning({ doing, share: 0 })
        reached.made = await makeReady(db, header!, signal)
        reached.restored = await pass('?settings=new')
        doing = 'Comparing'
      }
      reached.compared = await pass('?verify=true')
    } catch (e) {
      if (!signal.aborted) setError({ doing, error: e as Error })
    }
    setOutcome(reached)
    setRunning(undefined)
  }
  const ready = chosen?.header !== undefined && db !== '' && !running
  return (
    <section class='stack' aria-label='Restore a database'>
      <h2>Restore a database</h2>
      <Field label='Archive' hint='A file of settee or of couchbackup, not packed.' error={chosen && !chosen.header ? `${chosen.file.name} is no archive of a database.` : undefined}>
        {(id, about) => <input id={id} aria-describedby={about} type='file' disabled={running !== undefined} onChange={event => { void take(event.currentTarget.files?.[0]) }} />}
      </Field>
      <div class='row'>
        <span>Into</span>
        <DatabaseInput label='Into the database' value={db} onChoose={setDb} />
        <Button kind='primary' disabled={!ready} onClick={() => { void begin(true) }}>Restore</Button>
        <Button disabled={!ready} onClick={() => { void begin(false) }}>Compare only</Button>
        {running && <Button kind='plain' onClick={() => stop.current.abort()}>Cancel</Button>}
      </div>
      <p class='muted small'>
        A database that does not exist is made, with the rights and limits of the archive. Into one that exists revisions are
        merged: nothing that it has goes, and its rights stay. What was purged comes back.
      </p>
      {running && (
        <Notice kind='running'>
          <p>{running.share < 1 ? `${running.doing}: ${Math.floor(running.share * 100)} % is sent.` : `${running.doing}: all is sent, the server works on the rest.`}</p>
          <Bar share={running.share} label={running.doing} />
        </Notice>
      )}
      {outcome && <Result outcome={outcome} />}
      {error && <Failure error={error.error} doing={error.doing} />}
    </section>
  )
}

// Result says what was reached, also by a restore that failed or was cancelled.
function Result ({ outcome: { db, writes, made, restored, compared } }: { outcome: Outcome }) {
  const differing = compared?.differing ?? 0
  return (
    <>
      {writes && !restored && <Notice kind='waiting'>{db} has a part of the archive at the most. Restoring again goes on.</Notice>}
      {restored && <Notice kind='done'>Restored into <a href={href(['databases', db])}>{db}</a>: {contents(restored)}{made && '. The database was made for it'}.</Notice>}
      {compared && differing === 0 && <Notice kind='done'>Compared: {db} has all of the archive, {contents(compared)}.</Notice>}
      {compared && differing > 0 && (
        <Notice kind='waiting'>
          <p>{plural(differing, 'revision')} of the archive {differing === 1 ? 'is' : 'are'} missing in {db}, or different there:</p>
          <ul class='plain-list'>
            {compared.differences!.slice(0, LISTED).map(({ id, rev, differs }) => (
              <li key={`${id} ${rev}`}><a href={href(['databases', db], { doc: id })}>{id}</a> <code>{rev}</code>: {differs}</li>
            ))}
          </ul>
          {differing > LISTED && <p>And {plural(differing - LISTED, 'further one', 'further ones')}.</p>}
        </Notice>
      )}
    </>
  )
}
