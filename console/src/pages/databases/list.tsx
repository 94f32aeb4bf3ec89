// The list of databases with their sizes, which are asked for as rows come into view.
import { useCallback, useId, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, get, path, post, put } from '../../api'
import { useCommands } from '../../commands'
import { bytes, count, plural } from '../../format'
import { go, href, useParam } from '../../router'
import { useSession } from '../../session'
import { Button, DatabaseNames, Dialog, Empty, Failure, Field, Page, Table, toast } from '../../ui'
import { useLater, useLoad } from '../../use'
import { Rate } from './rates'

const PAGE = 100 // names asked for at once, and infos: the server answers 100 in one request

interface Row {
  name: string
  docs?: number
  deleted?: number
  size?: number
}

interface Info {
  key: string
  info?: { doc_count: number, doc_del_count: number, sizes: { file: number } }
}

async function names (prefix: string, after: string | undefined, signal?: AbortSignal): Promise<Row[]> {
  const start = after ?? prefix
  const query = { limit: PAGE, skip: after === undefined ? 0 : 1, ...(start && { start_key: start }), ...(prefix && { end_key: `${prefix}\ufff0` }) }
  const page = await get<string[]>('/_all_dbs', query, { signal, quiet: true })
  if (page.length === 0) return []
  const infos = await post<Info[]>('/_dbs_info', { keys: page }, { signal, quiet: true })
  return infos.map(({ key, info }) => info
    ? { name: key, docs: info.doc_count, deleted: info.doc_del_count, size: info.sizes.file }
    : { name: key })
}

export function List () {
  const { user } = useSession()
  const [filter, setFilter] = useParam('filter')
  const prefix = useLater(filter ?? '')
  const [chosen, setChosen] = useParam('chosen')
  const [creating, setCreating] = useState(false)
  const [rest, setRest] = useState<{ of: Row[] | undefined, rows: Row[], ended: boolean }>({ of: undefined, rows: [], ended: false })
  const first = useLoad(signal => names(prefix, undefined, signal), [prefix])
  const rows = useMemo(
    () => [...first.value ?? [], ...(rest.of === first.value ? rest.rows : [])], [first.value, rest])
  const ended = first.value !== undefined && (first.value.length < PAGE || (rest.of === first.value && rest.ended))
  const asking = useRef(false)
  const more = useCallback(() => {
    if (asking.current || first.value === undefined) return
    asking.current = true
    names(prefix, rows.at(-1)?.name)
      .then(page => setRest(before => ({
        of: first.value, rows: [...(before.of === first.value ? before.rows : []), ...page], ended: page.length < PAGE
      })), () => {})
      .finally(() => { asking.current = false })
  }, [first.value, rows])
  useCommands(useMemo(() => user.admin ? [{ title: 'Create a database', run: () => setCreating(true) }] : [], [user]))
  return (
    <Page
      title='Databases' help='api-coverage.md'
      actions={
        <>
          <input
            type='search' aria-label='Names that begin with' placeholder='Names that begin with' value={filter ?? ''}
            onInput={event => setFilter(event.currentTarget.value)}
          />
          {user.admin && <Button kind='primary' onClick={() => setCreating(true)}>Create database</Button>}
        </>
      }
      status={`${plural(rows.length, 'database')}${ended ? '' : ' and more'}`}
    >
      {first.error && (isHidden(first.error)
        ? <ByName />
        : <Failure error={first.error} doing='Reading the list' again={first.again} />)}
      <Table
        label='Databases' rows={rows} rowKey={row => row.name} chosen={chosen} onChoose={row => setChosen(row.name)}
        onOpen={row => { void go(href(['databases', row.name])) }} more={first.value && !ended ? more : undefined}
        columns={[
          { key: 'name', title: 'Name', width: 'minmax(160px, 3fr)', cell: row => <a href={href(['databases', row.name])}>{row.name}</a> },
          { key: 'docs', title: 'Documents', width: 'minmax(88px, 1fr)', numeric: true, cell: row => count(row.docs) },
          { key: 'deleted', title: 'Deleted', numeric: true, wide: true, cell: row => count(row.deleted) },
          { key: 'rate', title: 'Changes/s', numeric: true, wide: true, cell: row => <Rate name={row.name} /> },
          { key: 'size', title: 'Size', numeric: true, cell: row => <span title={plural(row.size ?? 0, 'byte')}>{bytes(row.size)}</span> }
        ]}
        empty={first.value && (
          <Empty
            title={prefix ? `No database begins with “${prefix}”` : 'No database yet'}
            action={user.admin && <Button kind='primary' onClick={() => setCreating(true)}>Create database</Button>}
            curl={`curl -u ${user.name ?? 'admin'} -X PUT ${location.origin}/orders`}
          >
            A database holds documents, and what is computed of them.
          </Empty>
        )}
      />
      {creating && <Create onClose={() => setCreating(false)} />}
    </Page>
  )
}

// isHidden: the setting admin_only_all_dbs keeps the list from who does not administer the server.
const isHidden = (error: Error): boolean => error instanceof ApiError && (error.status === 401 || error.status === 403)

/** ByName opens a database whose name one knows. */
function ByName () {
  const [name, setName] = useState('')
  const names = useId()
  const open = (event: SubmitEvent) => {
    event.preventDefault()
    void go(href(['databases', name]))
  }
  return (
    <form class='stack narrow' onSubmit={open}>
      <Field label='Name of a database' hint='The list of all is for administrators. What you may read opens by its name; what was opened here is completed.'>
        {(id, about) => <input id={id} aria-describedby={about} list={names} required value={name} onInput={event => setName(event.currentTarget.value)} />}
      </Field>
      <DatabaseNames id={names} typed={name} />
      <div class='row'><Button kind='primary' type='submit'>Open</Button></div>
    </form>
  )
}

function Create ({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [partitioned, setPartitioned] = useState(false)
  const [access, setAccess] = useState(false)
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const create = async () => {
    setBusy(true)
    try {
      const options = [partitioned && 'partitioned=true', access && 'access=true'].filter(Boolean).join('&')
      await put(path`/${name}` + (options && `?${options}`))
      toast(`${name} was created.`)
      onClose()
      void go(href(['databases', name]))
    } catch (e) {
      setError(e as Error)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title='Create a database' onClose={onClose} onSubmit={create}
      actions={
        <>
          <Button kind='plain' onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy} disabled={name === ''}>Create</Button>
        </>
      }
    >
      <Field label='Name' hint='Small letters, digits and _$()+-/, a letter first.' error={error?.message}>
        {(id, about) => (
          <input id={id} aria-describedby={about} value={name} autofocus onInput={event => setName(event.currentTarget.value)} />
        )}
      </Field>
      <label class='row'>
        <input type='checkbox' checked={partitioned} onChange={event => setPartitioned(event.currentTarget.checked)} />
        Partitioned: ids are PARTITION:ID, and queries can ask for one partition
      </label>
      <label class='row'>
        <input type='checkbox' checked={access} onChange={event => setAccess(event.currentTarget.checked)} />
        Access for each document: users see the documents that name them in _access
      </label>
    </Dialog>
  )
}
