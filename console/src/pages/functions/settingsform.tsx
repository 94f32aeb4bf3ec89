// The settings of a function as a form: the types of their values say what the controls are.
import { useMemo, useState } from 'preact/hooks'
import { Button, Field, Notice, toast } from '../../ui'
import { useDraft } from '../../use'
import { asText, CHOICES, fromText, shown, USUAL } from './settings'

/** Settings sends what was changed. */
export function Settings ({ stored, save }: {
  stored: Record<string, unknown>, save: (changed: Record<string, unknown>) => Promise<void>
}) {
  const draft = useDraft(useMemo(() => textsOf(stored), [stored]))
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [refused, setRefused] = useState<string>()
  const { usual, more } = shown(stored)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const changed: Record<string, unknown> = {}
    const wrong: Record<string, string> = {}
    const sent = draft.unsaved
    for (const [name, text] of Object.entries(sent)) {
      try {
        const value = typeof text === 'boolean' ? text : fromText(name, stored[name] ?? null, text!)
        if (JSON.stringify(value) !== JSON.stringify(stored[name] ?? null)) changed[name] = value
      } catch (error) {
        wrong[name] = (error as Error).message
      }
    }
    setErrors(wrong)
    if (Object.keys(wrong).length > 0) return
    if (Object.keys(changed).length === 0) return toast('Nothing was changed.')
    await save(changed).then(() => { draft.saved(sent); setRefused(undefined) }, (error: Error) => setRefused(error.message))
  }
  const field = (name: string) => (
    <One
      key={name} name={name} value={stored[name] ?? null} text={draft.now[name]!} error={errors[name]}
      onChange={text => draft.type({ [name]: text })}
    />
  )
  return (
    <form class='stack' onSubmit={submit}>
      <div class='columns'>{usual.map(field)}</div>
      <details>
        <summary>More settings</summary>
        <div class='columns'>{more.map(field)}</div>
      </details>
      {refused && <Notice kind='failed'>{refused}</Notice>}
      <div class='row'><Button kind='primary' type='submit'>Save settings</Button></div>
    </form>
  )
}

// textsOf is what stands in each control.
function textsOf (stored: Record<string, unknown>): Record<string, string | boolean> {
  return Object.fromEntries(Object.entries({ selector: null, ...stored }).map(([name, value]) => [
    name, typeof value === 'boolean' ? value : asText(name, value)
  ]))
}

function One ({ name, value, text, error, onChange }: {
  name: string, value: unknown, text: string | boolean, error: string | undefined, onChange: (text: string | boolean) => void
}) {
  if (typeof value === 'boolean') {
    return <label class='row'><input type='checkbox' checked={text === true} onChange={event => onChange(event.currentTarget.checked)} /> {name}</label>
  }
  const shownText = String(text)
  const choices = CHOICES[name]
  return (
    <Field label={name} hint={USUAL[name]} error={error}>
      {(id, about) => choices
        ? <select id={id} aria-describedby={about} value={shownText} onChange={event => onChange(event.currentTarget.value)}>
            {[...new Set([...choices, shownText])].map(choice => <option key={choice}>{choice}</option>)}
          </select>
        : typeof value === 'string' || typeof value === 'number'
          ? <input id={id} aria-describedby={about} type='text' inputMode={typeof value === 'number' ? 'numeric' : 'text'} value={shownText} onInput={event => onChange(event.currentTarget.value)} />
          : <textarea id={id} aria-describedby={about} rows={3} spellcheck={false} value={shownText} onInput={event => onChange(event.currentTarget.value)} />}
    </Field>
  )
}
