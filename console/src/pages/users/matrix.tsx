// Databases and users beside each other: who may do what, and why.
import { useState } from 'preact/hooks'
import { get, path } from '../../api'
import { href } from '../../router'
import { Failure, Field, Table } from '../../ui'
import { useLater, useLoad } from '../../use'
import { because, levelOf, WORDS, type Level, type Security } from './rights'
import { load, type User } from './users'

const MOST_USERS = 12 // columns
const MOST_DATABASES = 100 // rows, each a request

const SIGNS: Record<Level, string> = { server: '★ all', admin: '▲ admin', member: '● member', none: '–' }

interface Row {
  db: string
  security: Security | undefined
}

async function rows (prefix: string, signal: AbortSignal): Promise<Row[]> {
  const quiet = { signal, quiet: true }
  const names = await get<string[]>('/_all_dbs', { start_key: prefix, end_key: `${prefix}\ufff0`, limit: MOST_DATABASES }, quiet)
  return await Promise.all(names.map(async db => {
    const security = await get<Security>(path`/${db}/_security`, undefined, quiet).catch(() => undefined)
    return { db, security }
  }))
}

export function Matrix () {
  const [users, setUsers] = useState('')
  const [databases, setDatabases] = useState('')
  const names = useLater(users)
  const prefix = useLater(databases)
  const people = useLoad(signal => load(names, { signal }), [names])
  const all = useLoad(signal => rows(prefix, signal), [prefix])
  const shown = people.value?.slice(0, MOST_USERS) ?? []
  const cell = (user: User, { db, security }: Row) => security && (
    <span title={`${user.name} in ${db}: ${WORDS[levelOf(user, security)]} (${because(user, security)})`}>
      {SIGNS[levelOf(user, security)]}
    </span>
  )
  return (
    <>
      <div class='row'>
        <Field label='Databases that begin with'>{id => <input id={id} type='search' value={databases} onInput={event => setDatabases(event.currentTarget.value)} />}</Field>
        <Field label='Users that begin with'>{id => <input id={id} type='search' value={users} onInput={event => setUsers(event.currentTarget.value)} />}</Field>
      </div>
      {all.error && <Failure error={all.error} doing='Reading the rights' again={all.again} />}
      {people.error && <Failure error={people.error} doing='Reading the users' again={people.again} />}
      <Table
        label='Who may do what' rows={all.value ?? []} rowKey={row => row.db}
        columns={[
          { key: 'db', title: 'Database', width: 'minmax(120px, 1fr)', cell: row => <a href={href(['users'], { db: row.db, tab: 'rights' })}>{row.db}</a> },
          ...shown.map(user => ({ key: user.name, title: user.name, width: 'minmax(72px, 120px)', cell: (row: Row) => cell(user, row) }))
        ]}
      />
      <p class='muted small'>
        ★ administers the server · ▲ administers the database · ● reads and writes documents · – nothing. Hover over a sign for the
        reason. {people.value && people.value.length > MOST_USERS && `The first ${MOST_USERS} users are shown.`}
      </p>
    </>
  )
}
