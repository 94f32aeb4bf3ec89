// What belongs to a function besides its code: the reduce of a view, the analyzers of a search index.
import type { DesignDoc } from '../../designs'
import { Button, confirm, Field } from '../../ui'
import { withValue, type FunctionEntry } from './functions'

const REDUCES = ['_sum', '_count', '_stats', '_approx_count_distinct']
const CODE = 'function (keys, values, rereduce) {\n  return values.length\n}'

interface SettingsProps {
  design: DesignDoc
  fn: FunctionEntry
  admin: boolean
  onChange: (design: DesignDoc) => void
  onRemoved: () => void
}

/** Settings stand above the code of a function. */
export function Settings ({ design, fn, admin, onChange, onRemoved }: SettingsProps) {
  const [group, name] = fn.path
  // Of a view or a search index the function is a part: the whole goes.
  const whole = ['views', 'indexes', 'nouveau'].includes(group!) ? fn.path.slice(0, 2) : fn.path
  const drop = async () => {
    const what = group === 'views' ? `The view ${name} and its index go when the document is saved.` : `${fn.title} goes when the document is saved.`
    if (!await confirm(`Remove ${name ?? fn.title}`, what, 'Remove')) return
    onChange(withValue(design, whole, undefined))
    onRemoved()
  }
  return (
    <fieldset class='row settings' disabled={!admin} aria-label='Settings of the function'>
      {group === 'views' && <Reduce design={design} name={name!} onChange={onChange} />}
      {group === 'indexes' && <Analyzer label='Analyzer' place={['indexes', name!, 'analyzer']} value={design.indexes?.[name!]?.analyzer} design={design} onChange={onChange} />}
      {group === 'nouveau' && (
        <>
          <Analyzer label='Analyzer' place={['nouveau', name!, 'default_analyzer']} value={design.nouveau?.[name!]?.default_analyzer} design={design} onChange={onChange} />
          <Analyzer label='Analyzers of fields' place={['nouveau', name!, 'field_analyzers']} value={design.nouveau?.[name!]?.field_analyzers} design={design} onChange={onChange} />
        </>
      )}
      <span class='grow' />
      {admin && <Button kind='danger' onClick={() => { void drop() }}>Remove</Button>}
    </fieldset>
  )
}

function Reduce ({ design, name, onChange }: { design: DesignDoc, name: string, onChange: (design: DesignDoc) => void }) {
  const reduce = design.views?.[name]?.reduce
  const value = typeof reduce !== 'string' ? '' : reduce.startsWith('_') ? reduce : 'code'
  const names = value.startsWith('_') && !REDUCES.includes(value) ? [...REDUCES, value] : REDUCES
  return (
    <label class='row'>
      Reduce
      <select
        value={value}
        onChange={event => {
          const next = event.currentTarget.value
          onChange(withValue(design, ['views', name, 'reduce'], next === '' ? undefined : next === 'code' ? CODE : next))
        }}
      >
        <option value=''>none</option>
        {names.map(one => <option key={one}>{one}</option>)}
        <option value='code'>code</option>
      </select>
    </label>
  )
}

// An analyzer is a name, or JSON: {"name": "perfield", "default": "english", "fields": {…}}.
function Analyzer ({ label, place, value, design, onChange }: {
  label: string, place: string[], value: unknown, design: DesignDoc, onChange: (design: DesignDoc) => void
}) {
  const shown = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  return (
    <Field label={label} hint={place.at(-1) === 'field_analyzers' ? '{"title": "english"}' : 'A name, or {"name": "perfield", …}'}>
      {(id, about) => (
        <input
          id={id} aria-describedby={about} value={shown} spellcheck={false}
          onChange={event => {
            const { currentTarget: input } = event
            const text = input.value.trim()
            try {
              onChange(withValue(design, place, text === '' ? undefined : text.startsWith('{') ? JSON.parse(text) : text))
              input.setCustomValidity('')
            } catch {
              input.setCustomValidity('This is no JSON.')
              input.reportValidity()
            }
          }}
        />
      )}
    </Field>
  )
}
