// Users and rights: who there is, who may do what in a database, and both beside each other.
import { Page, Tabs } from '../../ui'
import { useParam } from '../../router'
import { Matrix } from './matrix'
import { People } from './people'
import { Rights } from './security'

const TABS = [
  { key: 'people', title: 'Users' }, { key: 'rights', title: 'Rights in a database' }, { key: 'matrix', title: 'Who may do what' }
] as const

type Tab = (typeof TABS)[number]['key']

export default function Users () {
  const [db] = useParam('db')
  const [chosen, choose] = useParam('tab')
  const tab: Tab = TABS.find(one => one.key === chosen)?.key ?? (db ? 'rights' : 'people')
  return (
    <Page title='Users and rights' help='security.md'>
      <Tabs label='Users and rights' tabs={[...TABS]} chosen={tab} onChoose={key => choose(key, true)} />
      {tab === 'people' && <People />}
      {tab === 'rights' && <Rights />}
      {tab === 'matrix' && <Matrix />}
    </Page>
  )
}
