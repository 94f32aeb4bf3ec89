// The queries that this browser keeps, to run them again.
import { useState } from 'preact/hooks'
import { saveJSON } from '../../files'
import { ago, count, duration, moment } from '../../format'
import { Button, Empty, Field, Notice, confirm, toast } from '../../ui'
import { kindOf, type Query } from './kinds'
import { readSaved, type Ran, type Saved } from './saved'

interface KeptProps {
  query: Query
  history: Ran[]
  saved: Saved
  setHistory: (history: Ran[]) => void
  setSaved: (saved: Saved) => void
  onOpen: (query: Query) => void
}

/** Kept lists the saved queries and the last ones. */
export function Kept ({ query, history, saved, setHistory, setSaved, onOpen }: KeptProps) {
  const [name, setName] = useState('')
  const names = Object.keys(saved).sort()
  const save = (event: Event) => {
    event.preventDefault()
    const before = saved[name]
    setSaved({ ...saved, [name]: query })
    toast(`“${name}” was saved in this browser.`, before && (() => setSaved({ ...saved, [name]: before })))
    setName('')
  }
  const drop = (key: string) => {
    const { [key]: gone, ...rest } = saved
    setSaved(rest)
    toast(`“${key}” was removed.`, () => setSaved({ ...rest, [key]: gone! }))
  }
  const clear = async () => {
    const what = `The ${history.length} queries of this browser's history go. Saved ones stay.`
    if (await confirm('Clear the history', what, 'Clear')) setHistory([])
  }
  return (
    <div class='stack kept'>
      <form class='row' onSubmit={save}>
        <Field label='Save this query as'>
          {id => <input id={id} value={name} required onInput={event => setName(event.currentTarget.value)} />}
        </Field>
        <Button type='submit' disabled={name === ''}>Save</Button>
      </form>
      <h2>Saved queries</h2>
      {names.length === 0 && <p class='muted'>None yet. They stay in this browser; export them to take them elsewhere.</p>}
      <ul class='plain-list'>
        {names.map(key => (
          <li key={key} class='row'>
            <Button kind='plain' onClick={() => onOpen(saved[key]!)}>{key}</Button>
            <span class='muted small grow'>{kindOf(saved[key]!.kind).title}, {saved[key]!.db}</span>
            <Button kind='plain' label={`Remove ${key}`} onClick={() => drop(key)}>Remove</Button>
          </li>
        ))}
      </ul>
      <Exchange saved={saved} setSaved={setSaved} />
      <div class='row'>
        <h2>History</h2>
        {history.length > 0 && <Button kind='plain' onClick={() => { void clear() }}>Clear</Button>}
      </div>
      {history.length === 0 && <Empty title='Nothing was run yet'>The last 50 queries of this browser stand here.</Empty>}
      <ul class='plain-list'>
        {history.map(ran => (
          <li key={ran.at}>
            <button type='button' class='ran' onClick={() => onOpen(ran)}>
              <code>{ran.text.replace(/\s+/g, ' ')}</code>
              <span class='muted small' title={moment(ran.at)}>
                {kindOf(ran.kind).title}, {ran.of ? `${ran.db}/${ran.of}` : ran.db} · {count(ran.rows)} rows, {duration(ran.ms)} · {ago(ran.at)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

// Exchange writes the saved queries to a file, and adds those of a file.
function Exchange ({ saved, setSaved }: { saved: Saved, setSaved: (saved: Saved) => void }) {
  const [error, setError] = useState<string>()
  const download = () => saveJSON(saved, 'queries.json')
  const read = async (file: File | undefined) => {
    if (!file) return
    try {
      const more = readSaved(await file.text())
      setSaved({ ...saved, ...more })
      setError(undefined)
      toast(`${Object.keys(more).length} queries were added.`)
    } catch (e) {
      setError((e as Error).message)
    }
  }
  return (
    <div class='row'>
      <Button disabled={Object.keys(saved).length === 0} onClick={download}>Export</Button>
      <label class='button normal file'>
        Import
        <input
          type='file' class='hidden' accept='application/json,.json' aria-label='Import saved queries'
          onChange={event => { void read(event.currentTarget.files?.[0]); event.currentTarget.value = '' }}
        />
      </label>
      {error && <Notice kind='failed'>{error}</Notice>}
    </div>
  )
}
