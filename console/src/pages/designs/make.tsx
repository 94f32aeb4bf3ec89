// The dialog that makes an index: JSON, text, or all fields of Mango, or full text.
import { useState } from 'preact/hooks'
import { docPath, get, path, post, put } from '../../api'
import type { DesignDoc } from '../../designs'
import { Button, Dialog, Failure, Field, Tabs, toast } from '../../ui'
import { withValue } from './functions'
import { indexBody, type IndexForm } from './make-body'

const KINDS: { key: IndexForm['kind'], title: string }[] = [
  { key: 'json', title: 'Chosen fields' }, { key: 'auto', title: 'All fields' }, { key: 'text', title: 'Text' }, { key: 'nouveau', title: 'Nouveau' }
]

const ABOUT: Record<IndexForm['kind'], string> = {
  json: 'Serves conditions on its first fields, and a sort in its order. Each write of a document with these fields changes one entry.',
  auto: 'Serves any condition and sort. A write changes an entry for each value that is new.',
  text: 'Serves $text and most selectors of Mango. Leave the fields empty to have all strings of all documents in it.',
  nouveau: 'Full text of a field, asked by _nouveau with Lucene’s query language. It is a member of a design document.'
}

/** MakeIndex asks what the index is of, and makes it. */
export function MakeIndex ({ db, onClose, onMade }: { db: string, onClose: () => void, onMade: () => void }) {
  const [form, setForm] = useState<IndexForm>({ kind: 'json', fields: '', ddoc: '', name: '', filter: '', analyzer: 'standard' })
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const { kind } = form
  const make = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const body = indexBody(form)
      if (kind === 'nouveau') await addNouveau(db, form, body)
      else await post(path`/${db}/_index`, body)
      toast('The index was made.')
      onMade()
      onClose()
    } catch (e) {
      setError(e as Error)
      setBusy(false)
    }
  }
  const text = (name: keyof IndexForm, label: string, hint: string, required = false) => (
    <Field label={label} hint={hint}>
      {(id, about) => (
        <input
          id={id} aria-describedby={about} value={form[name]} required={required} spellcheck={false} autocomplete='off'
          onInput={event => setForm({ ...form, [name]: event.currentTarget.value })}
        />
      )}
    </Field>
  )
  return (
    <Dialog
      title='Make an index' onClose={onClose} onSubmit={() => { void make() }}
      actions={<><Button kind='plain' onClick={onClose}>Cancel</Button><Button kind='primary' type='submit' busy={busy}>Make</Button></>}
    >
      <Tabs label='Kind of index' tabs={KINDS} chosen={kind} onChoose={key => setForm({ ...form, kind: key })} />
      <p class='muted'>{ABOUT[kind]}</p>
      {kind === 'json' && text('fields', 'Fields', 'In their order, with commas: country, day desc', true)}
      {kind === 'auto' && text('fields', 'Without these fields', 'With commas: log, customer.notes')}
      {kind === 'text' && text('fields', 'Fields with their types', 'With commas: name string, age number')}
      {kind === 'nouveau' && text('fields', 'Fields', 'With commas: note, customer.name', true)}
      {(kind === 'text' || kind === 'nouveau') && text('analyzer', 'Analyzer', 'standard, english, german, keyword, …')}
      {(kind === 'json' || kind === 'text') && text('filter', 'Only documents that pass', 'A selector: {"type": "order"}')}
      {text('ddoc', 'Design document', kind === 'nouveau' ? 'Its name; it is made if there is none.' : 'Its name; the server makes one if this is empty.', kind === 'nouveau')}
      {text('name', 'Name', kind === 'nouveau' ? 'Of the index.' : 'Of the index; the server makes one if this is empty.', kind === 'nouveau')}
      {error && <Failure error={error} doing='Making the index' />}
    </Dialog>
  )
}

// addNouveau puts the index into its design document, which may be there already.
async function addNouveau (db: string, form: IndexForm, body: Record<string, unknown>) {
  const target = docPath(db, `_design/${form.ddoc}`)
  const before = await get<{ rows: { doc?: DesignDoc | null }[] }>(
    path`/${db}/_all_docs`, { key: `_design/${form.ddoc}`, include_docs: true }, { quiet: true })
  const design = before.rows[0]?.doc ?? { language: 'javascript' } as unknown as DesignDoc
  if (design.nouveau?.[form.name]) throw new Error(`${form.ddoc} has an index ${form.name} already: choose another name.`)
  await put(target, withValue(design, ['nouveau', form.name], body))
}
