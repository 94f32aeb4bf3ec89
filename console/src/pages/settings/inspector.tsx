// The chosen setting: what it means, and the forms that change it.
import { useMemo, useState } from 'preact/hooks'
import { ApiError, path, put, remove } from '../../api'
import { href } from '../../router'
import { Button, confirm, Field, Notice, State, toast } from '../../ui'
import { useDraft } from '../../use'
import { nameOf, shown, when, whence, type Setting } from './settings'

const pathOf = (section: string, key: string): string => path`/_node/_local/_config/${section}/${key}`

interface InspectorProps {
  setting: Setting
  again: () => void
  choose: (name: string | undefined) => void
}

/** Inspector shows one setting, or what any key of a section means. */
export function Inspector ({ setting, again, choose }: InspectorProps) {
  const { section, key, means, effect } = setting
  return (
    <div class='stack'>
      <h2>{key === '' ? `Any key of ${section}` : nameOf(setting)}</h2>
      <p>{means || 'settee does not know this setting: it was set by somebody, and is kept.'}</p>
      {!effect && <Notice kind='waiting'>Without effect: it can be set and read, and changes nothing here.</Notice>}
      {key !== '' && (
        <dl class='facts'>
          <dt>Value</dt><dd class='mono'>{shown(setting.value)}</dd>
          <dt>Default</dt><dd class='mono'>{shown(setting.default)}</dd>
          <dt>Origin</dt><dd>{whence(setting)}</dd>
          <dt>A change counts</dt><dd>{setting.restart ? <State tone='waiting'>{when(setting)}</State> : when(setting)}</dd>
        </dl>
      )}
      <Change setting={setting} again={again} choose={choose} />
    </div>
  )
}

// Change is the form for this kind of setting, or the reason why there is none.
function Change ({ setting, again, choose }: InspectorProps) {
  const { section, key, fixed } = setting
  if (section === 'admins') {
    return <Notice kind='hint'>Administrators and their passwords are changed in <a href={href(['users'])}>Users and rights</a>.</Notice>
  }
  if (fixed) {
    return <Notice kind='hint'>The section {section} cannot be changed over HTTP by anybody: what it says is set in an ini file, and counts after the next start.</Notice>
  }
  return key === '' ? <NewKey section={section} again={again} choose={choose} /> : <Edit setting={setting} again={again} />
}

function Edit ({ setting, again }: { setting: Setting, again: () => void }) {
  const { section, key, secret, origin } = setting
  const name = nameOf(setting)
  const now = secret ? '' : setting.value // what stands for a secret is no value
  const draft = useDraft(useMemo(() => ({ text: now }), [setting]))
  const typed = draft.now.text
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const act = async (what: Promise<unknown>, done: string) => {
    setBusy(true)
    try {
      await what
      setError(undefined)
      toast(done)
      draft.saved({ text: typed })
      again()
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(put(pathOf(section, key), typed), `${name} was set${setting.restart ? '; it counts after the next start' : ''}.`)
  }
  const reset = async () => {
    const back = secret ? 'its value is lost' : `from ${shown(setting.value)} it goes back to ${shown(setting.default)}`
    const what = `${name}: ${back}. If an earlier ini file sets it as well, that file's value counts.`
    if (await confirm(`Set ${name} back?`, what, 'Set back')) await act(drop(section, key), `${name} was set back.`)
  }
  const field = {
    class: 'mono',
    spellcheck: false,
    value: typed,
    onInput: (event: InputEvent & { currentTarget: HTMLInputElement }) => {
      draft.type({ text: event.currentTarget.value })
      setError(undefined)
    }
  }
  return (
    <form class='stack' onSubmit={submit}>
      <Field label='New value' error={error} hint={secret ? 'What is set is not shown.' : undefined}>
        {(id, about) => {
          const input = { ...field, id, 'aria-describedby': about }
          return secret ? <input type='password' autocomplete='new-password' {...input} /> : <input autocomplete='off' {...input} />
        }}
      </Field>
      <div class='row'>
        <Button kind='primary' type='submit' busy={busy} disabled={typed === now}>Save</Button>
        {origin !== 'default' && <Button kind='danger' busy={busy} onClick={() => { void reset() }}>Back to the default</Button>}
      </div>
    </form>
  )
}

// drop deletes a setting. One that only an older section sets is shown as set, and is not there to be deleted.
async function drop (section: string, key: string): Promise<void> {
  try {
    await remove(pathOf(section, key))
  } catch (e) {
    if (!(e instanceof ApiError && e.status === 404)) throw e
    throw new Error(`Nothing sets it in ${section} itself: look for ${key} in an older section, httpd or couch_httpd_auth.`)
  }
}

function NewKey ({ section, again, choose }: { section: string, again: () => void, choose: InspectorProps['choose'] }) {
  const [key, setKey] = useState('')
  const [value, setValue] = useState('')
  const [error, setError] = useState<string>()
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    try {
      await put(pathOf(section, key.trim()), value)
      toast(`${section}/${key.trim()} was set.`)
      again()
      choose(`${section}/${key.trim()}`)
    } catch (e) {
      setError((e as Error).message)
    }
  }
  return (
    <form class='stack' onSubmit={submit}>
      <Field label='New key'>
        {id => <input id={id} class='mono' required pattern='.*\S.*' autocomplete='off' spellcheck={false} value={key} onInput={event => setKey(event.currentTarget.value)} />}
      </Field>
      <Field label='Value' error={error}>
        {(id, about) => <input id={id} aria-describedby={about} class='mono' autocomplete='off' spellcheck={false} value={value} onInput={event => setValue(event.currentTarget.value)} />}
      </Field>
      <div class='row'><Button kind='primary' type='submit'>Add</Button></div>
    </form>
  )
}
