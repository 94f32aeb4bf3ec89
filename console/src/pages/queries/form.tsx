// The options of a query as a form, which changes the text.
import { Field } from '../../ui'
import { parse, withOption, type Option } from './kinds'

/** OptionsForm shows the options that a text has, and writes into it; it rests while the text is no JSON. */
export function OptionsForm ({ options, text, onChange }: { options: Option[], text: string, onChange: (text: string) => void }) {
  let body: Record<string, unknown> | undefined
  try {
    body = parse(text)
  } catch {}
  const set = (name: string, value: unknown) => onChange(withOption(text, name, value))
  return (
    <details class='query-options' open={innerWidth > 900}>
      <summary>Options</summary>
      <fieldset class='query-form' disabled={!body} aria-label='Options'>
        {options.map(option => option.type === 'flag'
          ? <Flag key={option.name} option={option} value={body?.[option.name]} onChange={value => set(option.name, value)} />
          : <Value key={option.name} option={option} value={body?.[option.name]} onChange={value => set(option.name, value)} />)}
      </fieldset>
    </details>
  )
}

interface PartProps {
  option: Option
  value: unknown
  onChange: (value: unknown) => void
}

function Flag ({ option, value, onChange }: PartProps) {
  return (
    <label class='row'>
      <input
        type='checkbox' checked={value === undefined ? option.name === 'reduce' : value === true}
        onChange={event => {
          const on = event.currentTarget.checked
          onChange(on === (option.name === 'reduce') ? undefined : on)
        }}
      />
      {option.title}
    </label>
  )
}

// A value that cannot be read stays in the field, and is said there.
function Value ({ option, value, onChange }: PartProps) {
  const shown = value === undefined ? '' : option.type === 'text' && typeof value === 'string' ? value : JSON.stringify(value)
  const read = (text: string): unknown => {
    if (text.trim() === '') return undefined
    if (option.type === 'text') return text
    const made: unknown = JSON.parse(text)
    if (option.type === 'number' && typeof made !== 'number') throw new Error('no number')
    return made
  }
  return (
    <Field label={option.title} hint={option.hint}>
      {(id, about) => (
        <input
          id={id} aria-describedby={about} class={option.type === 'text' ? undefined : 'mono'} value={shown} spellcheck={false}
          inputMode={option.type === 'number' ? 'numeric' : undefined}
          onChange={event => {
            const { currentTarget: input } = event
            try {
              onChange(read(input.value))
              input.setCustomValidity('')
            } catch {
              input.setCustomValidity(option.type === 'number' ? 'A number.' : 'JSON: texts in quotation marks.')
              input.reportValidity()
            }
          }}
        />
      )}
    </Field>
  )
}
