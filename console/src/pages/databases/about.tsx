// What is known of a database, and what is done with it as a whole.
import { useState } from 'preact/hooks'
import { get, path, post, remove } from '../../api'
import { bytes, count, plural } from '../../format'
import { go, href } from '../../router'
import { useSession } from '../../session'
import { Button, Code, Dialog, Failure, Field, State, toast } from '../../ui'
import { useLoad, usePoll } from '../../use'
import { Sharing, WhatIsSeen } from './access'
import { readInfo } from './store'
import type { Info, Security } from './types'

/** About shows sizes, counts and rights, and has the buttons for the database as a whole. */
export function About ({ db }: { db: string }) {
  const { user } = useSession()
  const info = usePoll(signal => readInfo(db, signal), 5000, [db])
  const security = useLoad(signal => get<Security>(path`/${db}/_security`, undefined, { signal, quiet: true }), [db])
  const [deleting, setDeleting] = useState(false)
  const compact = async () => {
    try {
      await post(path`/${db}/_compact`)
      toast('Compaction has begun.')
      info.again()
    } catch (error) {
      toast(error as Error)
    }
  }
  const { admins, members } = security.value ?? {}
  const owns = user.admin || (user.name !== null && admins?.names?.includes(user.name)) || admins?.roles?.some(role => user.roles.includes(role))
  return (
    <div class='stack'>
      {info.error && <Failure error={info.error} doing='Reading the sizes' again={info.again} />}
      {info.value && <Facts info={info.value} />}
      <h2>Who may use it</h2>
      {security.error && <Failure error={security.error} doing='Reading the rights' again={security.again} />}
      {security.value && (
        <dl class='facts'>
          <dt>Administrators</dt><dd>{people(admins, 'those of the server only')}</dd>
          <dt>Members</dt><dd>{people(members, 'everybody who signs in, and who does not')}</dd>
        </dl>
      )}
      {user.admin && <p><a href={href(['users'], { db })}>Change the rights</a></p>}
      {owns && info.value?.props.access && (
        <>
          <Sharing db={db} />
          <h2>What a user sees</h2>
          <WhatIsSeen db={db} />
        </>
      )}
      {owns && (
        <>
          <h2>As a whole</h2>
          <div class='row'>
            <Button disabled={info.value?.compact_running} onClick={() => { void compact() }}>Compact</Button>
            {info.value?.compact_running && <State tone='running'>Compaction runs</State>}
            <span class='muted small'>removes the bodies of replaced revisions and gives their space back</span>
          </div>
          {user.admin && (
            <div class='row'>
              <Button kind='danger' onClick={() => setDeleting(true)}>Delete database</Button>
            </div>
          )}
          <p class='muted small'>
            A backup of this database alone, with attachments, conflicts and settings
            {user.admin && <>, <a href={href(['backups'], { db })}>by download</a> or by command</>}:
          </p>
          <Code label='Back up'>{`settee backup ${location.protocol}//${user.name ?? 'admin'}:PASSWORD@${location.host}/${encodeURIComponent(db)} -o ${db.replaceAll('/', '-')}.settee`}</Code>
        </>
      )}
      {deleting && info.value && <DeleteDatabase db={db} info={info.value} onClose={() => setDeleting(false)} />}
    </div>
  )
}

// people says who is in a part of _security; nobody where it is empty.
function people (part: Security['admins'], nobody: string): string {
  const names = part?.names ?? []
  const roles = (part?.roles ?? []).map(role => role === '_admin' ? 'administrators of the server' : `role ${role}`)
  return [...names, ...roles].join(', ') || nobody
}

function Facts ({ info }: { info: Info }) {
  const size = (n: number) => <span title={plural(n, 'byte')}>{bytes(n)}</span>
  return (
    <dl class='facts'>
      <dt>Documents</dt><dd>{count(info.doc_count)}</dd>
      <dt>Deleted</dt><dd>{count(info.doc_del_count)}</dd>
      <dt>Size on disk</dt><dd>{size(info.sizes.file)}</dd>
      <dt>Of it in use</dt><dd>{size(info.sizes.active)}</dd>
      <dt>Uncompressed JSON</dt><dd>{size(info.sizes.external)}</dd>
      <dt>Partitioned</dt><dd>{info.props.partitioned ? 'yes: ids are PARTITION:ID' : 'no'}</dd>
      <dt>Access</dt><dd>{info.props.access ? 'for each document' : 'to all documents, or none'}</dd>
      <dt>Changes</dt><dd>{count(Number.parseInt(info.update_seq, 10))} <code class='muted'>{info.update_seq}</code></dd>
    </dl>
  )
}

function DeleteDatabase ({ db, info, onClose }: { db: string, info: Info, onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const drop = async () => {
    if (typed !== db) return
    setBusy(true)
    try {
      await remove(path`/${db}`)
      toast(`${db} was deleted.`)
      void go(href(['databases']))
    } catch (e) {
      setError(e as Error)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={`Delete ${db}?`} onClose={onClose} onSubmit={() => { void drop() }}
      actions={
        <>
          <Button kind='plain' onClick={onClose}>Cancel</Button>
          <Button kind='danger' type='submit' busy={busy} disabled={typed !== db}>Delete database</Button>
        </>
      }
    >
      <p>
        {plural(info.doc_count, 'document')}, {bytes(info.sizes.file)}, and all indexes go. This cannot be undone: what is
        not in a backup or a replica is lost.
      </p>
      <Field label={`Type ${db} to delete it`} error={error?.message}>
        {(id, about) => <input id={id} aria-describedby={about} value={typed} autofocus autocomplete='off' onInput={event => setTyped(event.currentTarget.value)} />}
      </Field>
    </Dialog>
  )
}
