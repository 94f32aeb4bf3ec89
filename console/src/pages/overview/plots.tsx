// The plots of the last hour. They share one axis of time, and the pointer's line runs through all.
import { bytes, count, duration, rate } from '../../format'
import { Plot, type Series } from '../../ui'
import type { Overview } from './overview'

type Line = [label: string, series: string, colour?: Series['colour']]

interface Shape {
  title: string
  say: (n: number) => string
  lines: Line[]
}

const perSecond = (n: number) => `${rate(n)}/s`
const bytesPerSecond = (n: number) => `${bytes(n)}/s`

const SHAPES: Shape[] = [
  {
    title: 'Answers', say: perSecond,
    lines: [['2xx', 'answers_2xx_per_second', 4], ['3xx', 'answers_3xx_per_second', 1], ['4xx', 'answers_4xx_per_second', 3], ['5xx', 'answers_5xx_per_second', 2]]
  },
  { title: 'How long answers take', say: duration, lines: [['p50', 'latency_p50_ms', 1], ['p95', 'latency_p95_ms', 3], ['p99', 'latency_p99_ms', 2]] },
  { title: 'Documents', say: perSecond, lines: [['read', 'documents_read_per_second', 1], ['written', 'documents_written_per_second', 4]] },
  { title: 'Bodies', say: bytesPerSecond, lines: [['in', 'bytes_in_per_second', 4], ['out', 'bytes_out_per_second', 1]] },
  {
    title: 'Memory', say: bytes,
    lines: [['resident', 'memory_resident_bytes', 1], ['heap', 'memory_heap_bytes', 4], ['bodies', 'memory_bodies_bytes', 3], ['answers', 'memory_answers_bytes', 5]]
  },
  { title: 'Processors', say: rate, lines: [['busy', 'processor_seconds_per_second', 1]] },
  { title: 'Feeds and connections', say: count, lines: [['feeds', 'feeds', 1], ['connections', 'connections', 4], ['open files', 'open_files', 6]] },
  { title: 'JavaScript workers', say: count, lines: [['busy', 'workers_busy', 3], ['idle', 'workers_idle', 6]] },
  { title: 'Workers of event functions', say: count, lines: [['busy', 'function_workers_busy', 3], ['idle', 'function_workers_idle', 6]] },
  { title: 'Jobs and replications', say: count, lines: [['jobs', 'jobs_running', 1], ['replications', 'replications_running', 4], ['crashed', 'replications_crashed', 2]] },
  { title: 'Size of the store', say: bytes, lines: [['on disk', 'store_disk_bytes', 1], ['to compact', 'store_compaction_debt_bytes', 3]] },
  { title: 'Written to disk', say: bytesPerSecond, lines: [['flushed', 'store_flushed_bytes_per_second', 4], ['compacted', 'store_compacted_bytes_per_second', 3]] },
  { title: 'Amplification', say: rate, lines: [['write', 'store_write_amplification', 1], ['read', 'store_read_amplification', 4]] },
  { title: 'A write and its sync', say: duration, lines: [['write', 'store_write_ms', 1], ['sync', 'store_sync_ms', 3]] },
  { title: 'Writes that share a sync', say: rate, lines: [['transactions', 'store_group_transactions', 1]] }
]

/** Plots shows the series that there are: on FoundationDB the store has none of its own. */
export function Plots ({ all }: { all: Overview }) {
  return (
    <div class='plots' tabIndex={0} role='group' aria-label='The last hour'>
      {SHAPES.map(({ title, say, lines }) => {
        const series = lines.flatMap(([label, name, colour]): Series[] => {
          const values = all.series[name]
          return values ? [{ label, values, ...(colour && { colour }) }] : []
        })
        return series.length > 0 && <Plot key={`${title} ${series.length}`} title={title} times={all.times} series={series} say={say} group='overview' height={120} />
      })}
    </div>
  )
}
