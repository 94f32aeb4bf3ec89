// The dialog that adds a function to a design document.
import { useState } from 'preact/hooks'
import type { DesignDoc } from '../../designs'
import { Button, Dialog, Field } from '../../ui'
import { functionsOf, TEMPLATES, withValue, type NewKind } from './functions'

export function AddFunction ({ design, onClose, onAdd }: {
  design: DesignDoc, onClose: () => void, onAdd: (design: DesignDoc, place: string) => void
}) {
  const [kind, setKind] = useState<NewKind>('view')
  const [name, setName] = useState('')
  const { path, value } = TEMPLATES[kind]
  const place = path(name)
  const taken = functionsOf(design).some(one => place.every((part, i) => one.path[i] === part))
  const add = () => {
    if (taken) return
    const next = withValue(design, place, value)
    onAdd(next, functionsOf(next).find(one => place.every((part, i) => one.path[i] === part))!.path.join('/'))
    onClose()
  }
  return (
    <Dialog
      title='Add a function' onClose={onClose} onSubmit={add}
      actions={
        <>
          <Button kind='plain' onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' disabled={taken || (kind !== 'validate' && name === '')}>Add</Button>
        </>
      }
    >
      <Field label='Kind'>
        {id => (
          <select id={id} value={kind} onChange={event => setKind(event.currentTarget.value as NewKind)}>
            {Object.entries(TEMPLATES).map(([key, { title }]) => <option key={key} value={key}>{title}</option>)}
          </select>
        )}
      </Field>
      {kind !== 'validate'
        ? <Field label='Name' error={taken ? 'There is one with this name.' : undefined}>
            {(id, about) => <input id={id} aria-describedby={about} value={name} autofocus onInput={event => setName(event.currentTarget.value)} />}
          </Field>
        : taken && <p>This document has a validation already.</p>}
    </Dialog>
  )
}
