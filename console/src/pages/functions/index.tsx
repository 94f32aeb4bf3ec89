// Event functions: the list of them, and one beside it.
import { useMemo, useRef, useState } from 'preact/hooks'
import { useCommands } from '../../commands'
import { saveJSON } from '../../files'
import { plural } from '../../format'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Button, DatabaseNames, Dialog, Empty, Failure, Field, Page, Split, State, Table, toast } from '../../ui'
import { usePoll } from '../../use'
import { exportAll, fromKey, FunctionApi, importAll, keyOf, statuses, words, type Status } from './api'
import { FunctionView, toneOf } from './function'

const TEMPLATE = `function OnUpdate(doc, meta) {
  log('changed', meta.id);
}

function OnDelete(meta, options) {
  log('deleted', meta.id, options.expired);
}
`

export default function Functions () {
  const { user } = useSession()
  const [chosen, choose] = useParam('function')
  const [creating, setCreating] = useState(false)
  const all = usePoll(signal => statuses({ signal }), 2000, [])
  const rows = all.value ?? []
  const status = rows.find(one => keyOf(one) === chosen)
  const api = useMemo(() => {
    const key = chosen === undefined ? undefined : fromKey(chosen)
    return key && new FunctionApi(key.name, key.scope)
  }, [chosen])
  useCommands(useMemo(() => [{ title: 'Create an event function', run: () => setCreating(true) }], []))
  const make = <Button kind='primary' onClick={() => setCreating(true)}>Create function</Button>
  return (
    <Page
      title='Event functions' help='eventing.md' actions={<><Files again={all.again} />{make}</>}
      status={`${plural(rows.length, 'function')}, ${rows.filter(one => one.composite_status === 'deployed').length} deployed`}
    >
      {all.error && !all.value && <Failure error={all.error} doing='Reading the functions' again={all.again} />}
      <Split
        label='Function' onClose={() => choose(undefined)} narrow
        inspector={api && status && <FunctionView key={chosen} api={api} status={status} again={all.again} gone={() => choose(undefined)} />}
        list={
          <Table
            label='Functions' rows={rows} rowKey={keyOf} chosen={chosen} onChoose={one => choose(keyOf(one))}
            columns={[
              { key: 'name', title: 'Name', width: '2fr', cell: (one: Status) => one.name },
              { key: 'scope', title: 'Of', wide: true, cell: (one: Status) => one.function_scope.bucket === '*' ? 'the server' : one.function_scope.bucket },
              { key: 'state', title: 'State', width: '130px', cell: (one: Status) => <State tone={toneOf(one.composite_status)}>{one.composite_status}</State> }
            ]}
            empty={all.value && (
              <Empty
                title='There are no functions' action={make}
                curl={`curl -u ${user.name ?? 'admin'} -X POST ${location.origin}/_eventing/api/v1/functions/greet -d '{"appname":"greet","appcode":"function OnUpdate(doc, meta) { log(meta.id) }","depcfg":{"source_bucket":"orders"},"settings":{}}'`}
              >
                An event function is JavaScript that the server runs for each change of a database, exactly once in its effects.
              </Empty>
            )}
          />
        }
      />
      {creating && <Create onClose={() => setCreating(false)} onDone={key => { all.again(); choose(key, true) }} />}
    </Page>
  )
}

// Files exports and imports all functions.
function Files ({ again }: { again: () => void }) {
  const file = useRef<HTMLInputElement>(null)
  const load = async (input: HTMLInputElement) => {
    const text = await input.files?.[0]?.text()
    input.value = ''
    if (text === undefined) return
    try {
      const { value: rows } = await importAll(text)
      const failed = rows.filter(row => row.code !== 0)
      const said = `${rows.length - failed.length} of ${plural(rows.length, 'function')} imported.`
      toast(failed.length > 0 ? new Error([said, ...failed.map(({ info, name }) => String(info ?? name))].join(' ')) : said)
    } catch (error) {
      toast(new Error(words(error as Error)))
    }
    again()
  }
  const save = async () => { saveJSON(await exportAll(), 'functions.json') }
  return (
    <>
      <input ref={file} type='file' accept='.json,application/json' hidden aria-label='File to import' onChange={event => load(event.currentTarget)} />
      <Button onClick={() => file.current!.click()}>Import</Button>
      <Button onClick={save}>Export all</Button>
    </>
  )
}

function Create ({ onClose, onDone }: { onClose: () => void, onDone: (key: string) => void }) {
  const [name, setName] = useState('')
  const [source, setSource] = useState('')
  const [scope, setScope] = useState('')
  const [error, setError] = useState<string>()
  const submit = async () => {
    const at = scope === '' ? { bucket: '*', scope: '*' } : { bucket: scope, scope: '_default' }
    try {
      await new FunctionApi(name, at).create({ appname: name, appcode: TEMPLATE, depcfg: { source_bucket: source }, settings: {} })
      onDone(`${at.bucket}/${at.scope}/${name}`)
      onClose()
    } catch (e) {
      setError(words(e as Error))
    }
  }
  return (
    <Dialog
      title='Create an event function' onClose={onClose} onSubmit={submit}
      actions={<><Button kind='plain' onClick={onClose}>Cancel</Button><Button kind='primary' type='submit'>Create</Button></>}
    >
      <DatabaseNames id='create-source' typed={source} />
      <DatabaseNames id='create-scope' typed={scope} />
      <Field label='Name' hint='Letters, digits, _ and -.' error={error}>
        {(id, about) => <input id={id} aria-describedby={about} required autofocus autocomplete='off' value={name} onInput={event => setName(event.currentTarget.value)} />}
      </Field>
      <Field label='Source' hint='The database whose changes the function sees.'>
        {(id, about) => <input id={id} aria-describedby={about} required list='create-source' value={source} onInput={event => setSource(event.currentTarget.value)} />}
      </Field>
      <Field label='Scope' hint='A database that the function belongs to; empty: the whole server.'>
        {(id, about) => <input id={id} aria-describedby={about} list='create-scope' value={scope} onInput={event => setScope(event.currentTarget.value)} />}
      </Field>
    </Dialog>
  )
}
