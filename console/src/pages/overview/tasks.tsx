// What runs now, on all nodes.
import { get } from '../../api'
import { ago, duration } from '../../format'
import { Bar, Failure, State, Table } from '../../ui'
import { usePoll } from '../../use'
import { kind, left, share, subject, tall, type Task } from './overview'

function progress (task: Task) {
  const done = share(task)
  if (done === undefined) return task.changes_pending === 0 ? 'in step' : ''
  return <Bar share={done} label={`${kind(task)} ${subject(task)}`} />
}

/** Tasks lists background work with what is left of it. */
export function Tasks () {
  const tasks = usePoll(signal => get<Task[]>('/_active_tasks', undefined, { signal, quiet: true }), 2000, [])
  if (tasks.error && !tasks.value) return <Failure error={tasks.error} doing='Reading what runs' again={tasks.again} />
  if (!tasks.value) return null
  if (tasks.value.length === 0) return <p class='muted'>Nothing runs in the background: index builds, replications and compactions stand here with their progress.</p>
  return (
    <div class='short-list' ref={tall(tasks.value.length)}>
      <Table
        label='What runs now' rows={tasks.value} rowKey={task => `${task.node} ${task.pid} ${task.type} ${subject(task)}`}
        columns={[
          {
            key: 'kind', title: 'What', width: 'minmax(120px, 180px)',
            cell: task => <State tone={task.state === 'paused' ? 'failed' : task.type === 'replication' && task.changes_pending === 0 ? 'waiting' : 'running'}>{task.state === 'paused' ? `paused: ${kind(task)}` : kind(task)}</State>
          },
          { key: 'subject', title: 'Of', width: '3fr', cell: task => <span title={subject(task)}>{subject(task)}</span> },
          { key: 'progress', title: 'Done', cell: progress },
          { key: 'left', title: 'Left', width: '90px', numeric: true, wide: true, cell: task => duration(left(task, Date.now())) },
          { key: 'since', title: 'Began', width: '110px', numeric: true, wide: true, cell: task => task.started_on ? ago(task.started_on * 1000) : '' }
        ]}
      />
    </div>
  )
}
