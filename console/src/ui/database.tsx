// Names of databases, completed while they are typed.
import { useEffect, useId, useState } from 'preact/hooks'
import { get } from '../api'
import { opened } from '../opened'
import { useSession } from '../session'
import { useLater } from '../use'

const MOST = 30 // names that are offered

// useNames are names that begin with what is typed. Only administrators are told names, unless a setting says otherwise;
// nobody else asks, since each refusal would stand in the browser's console: they are offered what they have opened.
function useNames (typed: string): string[] {
  const { user } = useSession()
  const [names, setNames] = useState<string[]>([])
  const asked = useLater(typed, 120)
  useEffect(() => {
    if (!user.admin) return setNames(opened(user, asked, MOST))
    const stop = new AbortController()
    const range = asked === '' ? {} : { start_key: asked, end_key: `${asked}\ufff0` }
    get<string[]>('/_all_dbs', { ...range, limit: MOST }, { signal: stop.signal, quiet: true }).then(setNames, () => {})
    return () => stop.abort()
  }, [asked, user])
  return names
}

/** DatabaseNames is the list of an input (its `list` is the id) that completes the name of a database. */
export function DatabaseNames ({ id, typed }: { id: string, typed: string }) {
  return <datalist id={id}>{useNames(typed).map(name => <option key={name} value={name} />)}</datalist>
}

/** DatabaseInput offers the names that begin with what is typed. onChoose is told of a name that was chosen or finished. */
export function DatabaseInput ({ value, onChoose, label = 'Database' }: {
  value: string, onChoose: (name: string) => void, label?: string
}) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  const names = useNames(typed)
  useEffect(() => setTyped(value), [value])
  const input = (event: InputEvent & { currentTarget: HTMLInputElement }) => {
    const next = event.currentTarget.value
    setTyped(next)
    // A name that was chosen in the list comes without a kind of typing, or as a replacement.
    if (names.includes(next) && (event.inputType === undefined || event.inputType === 'insertReplacementText')) onChoose(next)
  }
  return (
    <>
      <input
        list={id} aria-label={label} placeholder={label} value={typed} autocomplete='off' spellcheck={false} onInput={input}
        onChange={event => { if (event.currentTarget.value !== value) onChoose(event.currentTarget.value) }}
        onKeyDown={event => { if (event.key === 'Enter') onChoose(event.currentTarget.value) }}
      />
      <datalist id={id}>{names.map(name => <option key={name} value={name} />)}</datalist>
    </>
  )
}
