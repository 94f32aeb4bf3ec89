// What a run has given: as table, JSON or chart, explained, and what was run before.
import { useMemo } from 'preact/hooks'
import { useParam } from '../../router'
import { useDatabaseAdmin } from '../../rights'
import { Button, Editor, Empty, Tabs } from '../../ui'
import { columnsOf } from './answer'
import { Chart } from './chart'
import { Explain } from './explain-view'
import type { Query } from './kinds'
import { Kept } from './kept'
import { Results } from './results'
import type { useRun } from './run'
import type { Ran, Saved } from './saved'

type View = 'table' | 'json' | 'chart' | 'explain' | 'history'

const VIEWS: { key: View, title: string }[] = [
  { key: 'table', title: 'Table' }, { key: 'json', title: 'JSON' }, { key: 'chart', title: 'Chart' },
  { key: 'explain', title: 'Explain' }, { key: 'history', title: 'Saved and history' }
]

interface OutputProps {
  runner: ReturnType<typeof useRun>
  query: Query
  history: Ran[]
  saved: Saved
  setHistory: (history: Ran[]) => void
  setSaved: (saved: Saved) => void
  onOpen: (query: Query) => void
}

export function Output ({ runner, query, ...kept }: OutputProps) {
  const [param, setView] = useParam('show')
  const view = VIEWS.find(one => one.key === param)?.key ?? 'table'
  const admin = useDatabaseAdmin(query.db)
  const { run } = runner
  const { columns, left } = useMemo(() => columnsOf(run?.rows ?? []), [run?.rows])
  return (
    <>
      <Tabs label='Show' tabs={VIEWS} chosen={view} onChoose={key => setView(key === 'table' ? undefined : key)} />
      {view === 'history' && <Kept query={query} {...kept} />}
      {view === 'explain' && (
        <Explain
          db={query.db} explained={run?.explained} error={run?.explainError} body={run?.body ?? {}} stats={run?.page.stats}
          before={run?.before} documents={run?.documents} admin={admin} onIndexed={() => { if (run) runner.start(run.query) }}
        />
      )}
      {view !== 'history' && view !== 'explain' && !run && (
        <Empty title='Nothing was run yet'>Press Ctrl+Enter in the editor. The quotation mark begins a member or an operator, which are completed.</Empty>
      )}
      {run && view === 'table' && <Results db={run.query.db} rows={run.rows} columns={columns} />}
      {run && view === 'json' && <Editor label='Answer as JSON' language='json' readOnly value={JSON.stringify(run.answer, null, 2)} />}
      {run && view === 'chart' && <Chart rows={run.rows} columns={columns} />}
      {run && view !== 'history' && view !== 'explain' && (
        <div class='row'>
          {run.page.bookmark && <Button busy={runner.busy} onClick={runner.next}>Next page</Button>}
          {left > 0 && view === 'table' && <span class='muted small'>{left} more members are in the JSON</span>}
        </div>
      )}
    </>
  )
}
