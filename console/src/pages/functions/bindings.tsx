// What a function may use, as a form: its source, and rows of databases, addresses and constants.
import { useState } from 'preact/hooks'
import { Button, DatabaseNames, Field, Notice } from '../../ui'
import { useDraft } from '../../use'
import type { Binding, Deps } from './api'

type Control = 'text' | 'secret' | 'check' | 'database' | readonly string[]

interface Kind {
  member: 'buckets' | 'curl' | 'constants'
  title: string
  one: string
  fresh: Binding
  fields: [name: string, label: string, control: Control][]
}

const KINDS: Kind[] = [
  {
    member: 'buckets', title: 'Databases', one: 'database', fresh: { alias: '', bucket_name: '', access: 'rw' },
    fields: [['alias', 'Name in the code', 'text'], ['bucket_name', 'Database', 'database'], ['access', 'Access', ['r', 'rw']]]
  },
  {
    member: 'curl', title: 'Addresses', one: 'address',
    fresh: {
      value: '', hostname: 'https://', auth_type: 'no-auth', username: '', password: '', bearer_key: '', allow_cookies: false,
      validate_ssl_certificate: true
    },
    fields: [
      ['value', 'Name in the code', 'text'], ['hostname', 'URL', 'text'], ['auth_type', 'Login', ['no-auth', 'basic', 'digest', 'bearer']],
      ['username', 'User', 'text'], ['password', 'Password', 'secret'], ['bearer_key', 'Bearer key', 'secret'],
      ['allow_cookies', 'Cookies', 'check'], ['validate_ssl_certificate', 'Check certificate', 'check']
    ]
  },
  {
    member: 'constants', title: 'Constants', one: 'constant', fresh: { value: '', literal: '' },
    fields: [['value', 'Name in the code', 'text'], ['literal', 'JavaScript literal', 'text']]
  }
]

/** Bindings is given all that is stored, and gives save all of it. */
export function Bindings ({ stored, save }: { stored: Deps, save: (deps: Deps) => Promise<void> }) {
  const draft = useDraft(stored)
  const deps = draft.now
  const [error, setError] = useState<string>()
  const rows = (kind: Kind): Binding[] => deps[kind.member] ?? []
  const setRows = (kind: Kind, next: Binding[]) => draft.type({ [kind.member]: next })
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    await save(deps).then(() => { draft.saved(deps); setError(undefined) }, (e: Error) => setError(e.message))
  }
  return (
    <form class='stack' onSubmit={submit}>
      <DatabaseNames id='function-source' typed={deps.source_bucket} />
      <Field label='Source' hint='The database whose changes the function sees.'>
        {(id, about) => (
          <input
            id={id} aria-describedby={about} required list='function-source' value={deps.source_bucket}
            onInput={event => draft.type({ source_bucket: event.currentTarget.value })}
          />
        )}
      </Field>
      {KINDS.map(kind => (
        <fieldset key={kind.member} class='plain stack'>
          <legend>{kind.title}</legend>
          {rows(kind).map((binding, i) => (
            <div key={i} class='binding' role='group' aria-label={`${kind.one} ${i + 1}`}>
              {kind.fields.map(([name, label, control]) => (
                <One
                  key={name} label={label} control={control} value={binding[name]}
                  onChange={value => setRows(kind, rows(kind).map((row, at) => at === i ? { ...row, [name]: value } : row))}
                />
              ))}
              <Button kind='plain' label={`Remove this ${kind.one}`} onClick={() => setRows(kind, rows(kind).filter((_, at) => at !== i))}>Remove</Button>
            </div>
          ))}
          <div class='row'><Button onClick={() => setRows(kind, [...rows(kind), { ...kind.fresh }])}>Add {kind.one}</Button></div>
        </fieldset>
      ))}
      {error && <Notice kind='failed'>{error}</Notice>}
      <div class='row'><Button kind='primary' type='submit'>Save bindings</Button></div>
    </form>
  )
}

function One ({ label, control, value, onChange }: { label: string, control: Control, value: unknown, onChange: (value: unknown) => void }) {
  if (control === 'check') {
    return <label class='row'><input type='checkbox' checked={value === true} onChange={event => onChange(event.currentTarget.checked)} /> {label}</label>
  }
  return (
    <Field label={label}>
      {id => typeof control !== 'string'
        ? <select id={id} value={String(value ?? control[0])} onChange={event => onChange(event.currentTarget.value)}>
            {control.map(choice => <option key={choice}>{choice}</option>)}
          </select>
        : control === 'secret'
          ? <input id={id} type='password' autocomplete='new-password' value={String(value ?? '')} onInput={event => onChange(event.currentTarget.value)} />
          : <>
              <input
                id={id} autocomplete='off' list={control === 'database' ? `${id}-names` : undefined} value={String(value ?? '')}
                onInput={event => onChange(event.currentTarget.value)}
              />
              {control === 'database' && <DatabaseNames id={`${id}-names`} typed={String(value ?? '')} />}
            </>}
    </Field>
  )
}
