// The form that makes a replication.
import { useState } from 'preact/hooks'
import { post } from '../../api'
import { useSession } from '../../session'
import { Button, DatabaseNames, Dialog, Editor, Field, toast } from '../../ui'
import { definition, type End, type Wish } from './wish'

/** Create asks for both ends and writes a document of _replicator, or copies once. */
export function Create ({ onClose, onDone }: { onClose: () => void, onDone: () => void }) {
  const { user } = useSession()
  const end: End = { where: 'here', name: '', url: '', user: user.name ?? '', password: '' }
  const [wish, setWish] = useState<Wish>({ id: '', source: end, target: end, lasting: false, createTarget: true, part: '' })
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const set = (change: Partial<Wish>) => setWish({ ...wish, ...change })
  const submit = async () => {
    setBusy(true)
    try {
      const body = definition(wish, location.origin)
      if (wish.lasting) {
        await post('/_replicator', body)
        toast('The replication runs, and goes on after restarts.')
      } else {
        const answer = await post<{ history?: { docs_written: number }[] }>('/_replicate', body)
        toast(`Copied: ${answer.history?.[0]?.docs_written ?? 0} documents were written.`)
      }
      onDone()
      onClose()
    } catch (e) {
      setError((e as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title='Create a replication' wide onClose={onClose} onSubmit={submit}
      actions={
        <>
          {error && <span class='grow wrong' role='alert'>{error}</span>}
          <Button kind='plain' onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy}>{wish.lasting ? 'Start' : busy ? 'Copying' : 'Copy'}</Button>
        </>
      }
    >
      <div class='columns'>
        <Ending label='From' end={wish.source} lasting={wish.lasting} onChange={source => set({ source })} />
        <Ending label='To' end={wish.target} lasting={wish.lasting} onChange={target => set({ target })} />
      </div>
      <fieldset class='plain row'>
        <legend class='hidden'>How long</legend>
        <label class='row'><input type='radio' name='lasting' checked={!wish.lasting} onChange={() => set({ lasting: false })} /> Copy once</label>
        <label class='row'><input type='radio' name='lasting' checked={wish.lasting} onChange={() => set({ lasting: true })} /> Keep in step, also after a restart</label>
        <label class='row'>
          <input type='checkbox' checked={wish.createTarget} onChange={event => set({ createTarget: event.currentTarget.checked })} />
          Create the target if it is missing
        </label>
      </fieldset>
      {wish.lasting && (
        <Field label='Name' hint='The id of its document in _replicator; empty for one that is made up.'>
          {(id, about) => <input id={id} aria-describedby={about} value={wish.id} onInput={event => set({ id: event.currentTarget.value })} />}
        </Field>
      )}
      <details>
        <summary>Only a part of the documents</summary>
        <p class='muted small'>A selector, such as {'{"type": "order"}'}: documents that it matches are replicated.</p>
        <div class='editor-box'><Editor label='Selector' language='json' value={wish.part} onChange={part => set({ part })} /></div>
      </details>
    </Dialog>
  )
}

function Ending ({ label, end, lasting, onChange }: {
  label: string, end: End, lasting: boolean, onChange: (end: End) => void
}) {
  const set = (change: Partial<End>) => onChange({ ...end, ...change })
  const here = end.where === 'here'
  return (
    <fieldset class='plain stack'>
      <legend>{label}</legend>
      <div class='row'>
        <label class='row'><input type='radio' name={label} checked={here} onChange={() => set({ where: 'here' })} /> This server</label>
        <label class='row'><input type='radio' name={label} checked={!here} onChange={() => set({ where: 'there' })} /> Another server</label>
      </div>
      {here
        ? <Field label={`${label}: database`}>
            {id => <><input id={id} required list={`${id}-names`} value={end.name} onInput={event => set({ name: event.currentTarget.value })} />
              <DatabaseNames id={`${id}-names`} typed={end.name} /></>}
          </Field>
        : <Field label={`${label}: address`} hint='https://couch.example.org/orders'>
            {(id, about) => <input id={id} type='url' aria-describedby={about} required value={end.url} onInput={event => set({ url: event.currentTarget.value })} />}
          </Field>}
      {(!here || lasting) && (
        <div class='columns'>
          <Field label={`${label}: user`} hint={here ? 'Replications that last sign in here as well.' : undefined}>
            {(id, about) => <input id={id} aria-describedby={about} autocomplete='off' value={end.user} onInput={event => set({ user: event.currentTarget.value })} />}
          </Field>
          <Field label={`${label}: password`}>
            {id => <input id={id} type='password' autocomplete='off' value={end.password} onInput={event => set({ password: event.currentTarget.value })} />}
          </Field>
        </div>
      )}
    </fieldset>
  )
}
