// Design documents and indexes: a database is chosen, its indexes are listed, a design document is edited.
import { href, go, usePlace } from '../../router'
import { DatabaseInput, Empty, Page } from '../../ui'
import { EditDesign } from './edit'
import { List } from './list'

export default function Designs () {
  const [, db, ...name] = usePlace().parts
  if (db === undefined) return <Choose />
  if (name.length === 0) return <List key={db} db={db} />
  return <EditDesign key={`${db} ${name.join('/')}`} db={db} name={name.join('/')} />
}

function Choose () {
  return (
    <Page title='Designs & indexes' help='views.md'>
      <Empty
        title='Of which database?'
        action={<DatabaseInput value='' onChoose={name => { if (name !== '') void go(href(['designs', name])) }} />}
        curl={`curl -u admin ${location.origin}/orders/_index`}
      >
        Design documents hold views, full-text indexes and functions; Mango's indexes are design documents, too.
      </Empty>
    </Page>
  )
}
