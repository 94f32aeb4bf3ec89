// The end of a function's log, the newest line first.
import { useState } from 'preact/hooks'
import { Table } from '../../ui'
import { usePoll } from '../../use'
import type { FunctionApi, LogLine } from './api'

const text = (line: LogLine): string =>
  line.dropped ? `${line.dropped} lines came too fast and are not here` : `${line.at ? `${line.at} ` : ''}${line.text ?? ''}`

/** Log shows lines that have what is typed. */
export function Log ({ api }: { api: FunctionApi }) {
  const [wanted, setWanted] = useState('')
  const lines = usePoll(() => api.log(), 2000, [api])
  const rows = (lines.value ?? [])
    .map((line, i) => ({ line, key: String((lines.value?.length ?? 0) - i) }))
    .filter(({ line }) => JSON.stringify(line).toLowerCase().includes(wanted.toLowerCase()))
  return (
    <>
      <div class='row'>
        <input type='search' aria-label='Show lines with' placeholder='Show lines with' value={wanted} onInput={event => setWanted(event.currentTarget.value)} />
      </div>
      <Table
        label='Log' rows={rows} rowKey={row => row.key} rowClass={({ line }) => line.level === 'ERROR' ? 'wrong-row' : undefined} empty='No lines.'
        columns={[
          { key: 'time', title: 'Time', width: '180px', wide: true, cell: ({ line }) => (line.time ?? '').replace('T', ' ').replace('Z', '') },
          { key: 'level', title: 'Level', width: '64px', cell: ({ line }) => line.level ?? '' },
          { key: 'event', title: 'Event', width: 'minmax(64px, 1fr)', cell: ({ line }) => line.id ?? (line.callback ? `${line.callback} ${line.reference}` : '') },
          { key: 'text', title: 'Text', width: '4fr', cell: ({ line }) => <span title={text(line)}>{text(line)}</span> }
        ]}
      />
    </>
  )
}
