// Settings: what is in force, where it is from, what it means; and changing it.
import { useMemo } from 'preact/hooks'
import { get } from '../../api'
import { useCommands } from '../../commands'
import { plural } from '../../format'
import { useParam } from '../../router'
import { useSession } from '../../session'
import { Button, Empty, Failure, Page, Split, Table } from '../../ui'
import { useLoad } from '../../use'
import { Inspector } from './inspector'
import { matching, nameOf, type Setting } from './settings'

export default function Settings () {
  const { user } = useSession()
  const [filter, setFilter] = useParam('filter')
  const [changed, setChanged] = useParam('changed')
  const [chosen, choose] = useParam('setting')
  const loaded = useLoad(signal => get<{ settings: Setting[] }>('/_node/_local/_settings', undefined, { signal, quiet: true }), [])
  const all = loaded.value?.settings
  const rows = useMemo(() => matching(all ?? [], filter ?? '', changed !== undefined), [all, filter, changed])
  const setting = all?.find(one => nameOf(one) === chosen)
  useCommands(useMemo(() => [{ title: 'Show the settings that were changed', run: () => setChanged('yes') }], []))
  const everything = () => {
    setFilter(undefined)
    setChanged(undefined)
  }
  return (
    <Page
      title='Settings' help='configuration.md'
      status={all && `${rows.length} of ${plural(all.length, 'setting')}, ${all.filter(one => one.origin !== 'default').length} changed`}
    >
      <div class='row'>
        <input
          type='search' aria-label='Words of name, value or meaning' placeholder='Name, value, meaning' value={filter ?? ''}
          onInput={event => setFilter(event.currentTarget.value)}
        />
        <label class='row'>
          <input type='checkbox' checked={changed !== undefined} onChange={event => setChanged(event.currentTarget.checked ? 'yes' : undefined)} />
          Only those that were changed
        </label>
      </div>
      {loaded.error && <Failure error={loaded.error} doing='Reading the settings' again={loaded.again} />}
      <Split
        label='Setting' onClose={() => choose(undefined)}
        inspector={setting && <Inspector key={chosen} setting={setting} again={loaded.again} choose={choose} />}
        list={
          <Table
            label='Settings' rows={rows} rowKey={nameOf} chosen={chosen} onChoose={one => choose(nameOf(one))}
            columns={[
              { key: 'name', title: 'Setting', width: 'minmax(160px, 3fr)', cell: one => <Name setting={one} /> },
              { key: 'value', title: 'Value', width: '2fr', cell: one => <span class='mono' title={one.value}>{one.value}</span> },
              { key: 'origin', title: 'Origin', width: '120px', wide: true, cell: one => <span class={one.origin === 'default' ? 'muted' : ''} title={one.from}>{one.origin}</span> }
            ]}
            empty={all && (
              <Empty
                title='No setting' action={<Button onClick={everything}>Show all settings</Button>}
                curl={`curl -u ${user.name ?? 'admin'} ${location.origin}/_node/_local/_settings`}
              >
                No setting has these words in its name, its value or its meaning{changed && ', and was changed'}.
              </Empty>
            )}
          />
        }
      />
    </Page>
  )
}

// Name is section and key; what has no effect is grey, and says so.
function Name ({ setting }: { setting: Setting }) {
  const { section, key, effect } = setting
  return (
    <span class={effect ? 'mono' : 'mono muted'} title={effect ? nameOf(setting) : `${nameOf(setting)}: without effect`}>
      {section} / {key === '' ? <em>any key</em> : key}
    </span>
  )
}
