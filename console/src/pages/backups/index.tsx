// Backups: one database into a file and back, and the commands for the whole server.
import { useState } from 'preact/hooks'
import { hasToken } from '../../api'
import { bytes, plural } from '../../format'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Button, Code, DatabaseInput, Failure, Field, Page } from '../../ui'
import { useLoad } from '../../use'
import { saveAs } from '../../files'
import { readInfo } from '../databases/store'
import { fileOf, type Header } from './archive'
import { backupPath, readArchive } from './requests'
import { Restore } from './restore'

export default function Backups () {
  return (
    <Page title='Backups' help='moving.md#backup'>
      <div class='stack narrow parts'>
        <Save />
        <Restore />
        <Commands />
      </div>
    </Page>
  )
}

function Save () {
  const { user } = useSession()
  const [db, setDb] = useParam('db')
  const [form, setForm] = useState<Header['form']>('settee')
  const info = useLoad(async signal => db ? { db, ...await readInfo(db, signal) } : undefined, [db])
  const there = info.value?.db === db ? info.value : undefined // the value of the database before stays until this one's is there
  return (
    <section class='stack' aria-label='Save a database'>
      <h2>Save a database</h2>
      <div class='row'>
        <DatabaseInput label='Database to save' value={db ?? ''} onChoose={setDb} />
        {there && <span class='muted'>{plural(there.doc_count, 'document')}, {bytes(there.sizes.file)}</span>}
      </div>
      <p class='muted small'>
        The file has all documents as they are at one moment, conflicts and attachments, who may use the database, and its
        limits. It has no local documents (checkpoints of replications) and no indexes, which are built anew.
      </p>
      {db && info.error && <Failure error={info.error} doing={`Reading ${db}`} again={info.again} />}
      {there
        ? <>
            <Field label='Form of the file' hint='The second form can be restored to any CouchDB, and does not tell whether it is whole.'>
              {(id, about) => (
                <select id={id} aria-describedby={about} value={form} onChange={event => setForm(event.currentTarget.value as Header['form'])}>
                  <option value='settee'>Archive of settee</option>
                  <option value='couchbackup'>For the tool @cloudant/couchbackup</option>
                </select>
              )}
            </Field>
            <div class='row'><Download db={there.db} form={form} /></div>
          </>
        : !db && <Code label='Save by curl'>{`curl -u ${user.name ?? 'admin'} ${location.origin}/DATABASE/_backup -o DATABASE.settee`}</Code>}
    </section>
  )
}

// Download is a link, so that the browser streams to the disk. A link sends the cookie, not a token: with one the page
// reads the archive itself.
function Download ({ db, form }: { db: string, form: Header['form'] }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  if (!hasToken()) return <a class='button primary' href={backupPath(db, form)} download={fileOf(db, form)}>Download {db}</a>
  const read = async () => {
    setBusy(true)
    setError(undefined)
    try {
      saveAs(await readArchive(db, form), fileOf(db, form))
    } catch (e) {
      setError(e as Error)
    }
    setBusy(false)
  }
  return (
    <>
      <Button kind='primary' busy={busy} onClick={() => { void read() }}>Download {db}</Button>
      {error && <Failure error={error} doing='Downloading' />}
    </>
  )
}

// What there is for the whole server is on the command line, where the disk is.
function Commands () {
  const { user } = useSession()
  const server = `${location.protocol}//${user.name ?? 'admin'}:PASSWORD@${location.host}`
  return (
    <section class='stack' aria-label='The whole server'>
      <h2>The whole server</h2>
      <p>All databases, each in an archive of its own, from any machine. Local documents, indexes and settings are not in them.</p>
      <Code label='Save all databases'>{`settee backup ${server} -o backups/`}</Code>
      <p>All archives of a directory, each back into its database, which is made if there is none. All is compared afterwards.</p>
      <Code label='Restore all databases'>{`settee restore ${server} backups/`}</Code>
      <p>
        The data directory as it is at one moment, while the server runs: all of the above, and local documents, indexes, jobs,
        event functions and local.ini. It runs where the server runs, and is for the embedded engine; FoundationDB has a backup
        of its own. DIR is the server’s --data; start a server on the copy to restore it.
      </p>
      <Code label='Copy the data directory'>{'settee backup --physical --data DIR -o backups/monday'}</Code>
      <Code label='Start on the copy'>{'settee check --data backups/monday && settee serve --data backups/monday'}</Code>
    </section>
  )
}
