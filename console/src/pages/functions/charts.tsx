// Live plots of a function.
import { useEffect, useRef, useState } from 'preact/hooks'
import { count, duration, rate } from '../../format'
import { Plot } from '../../ui'
import type { Stats } from './api'
import { between, totals, type Point, type Totals } from './samples'

const KEPT = 150 // samples, five minutes

/** Charts shows what the samples of the statistics say; undefined while the function is not deployed. */
export function Charts ({ stats }: { stats: Stats | undefined }) {
  const before = useRef<Totals>(undefined)
  const [points, setPoints] = useState<Point[]>([])
  const [now, setNow] = useState<Totals>()
  useEffect(() => {
    const next = stats && totals(stats, Date.now())
    const last = before.current
    if (next && last) setPoints(all => [...all, between(last, next)].slice(-KEPT))
    before.current = next
    setNow(next)
  }, [stats])
  if (!now) return <p class='muted'>No statistics: the function is not deployed.</p>
  const times = points.map(point => point.time)
  const line = (label: string, name: keyof Point, colour?: 1 | 2 | 3) => ({ label, values: points.map(point => point[name]), ...(colour && { colour }) })
  const perSecond = (n: number) => `${rate(n)}/s`
  return (
    <>
      <div class='plots'>
        <Plot title='Throughput' times={times} say={perSecond} height={110} series={[line('events', 'events'), line('timers', 'timers', 3)]} />
        <Plot title='Backlog' times={times} say={count} height={110} series={[line('events left', 'backlog')]} />
        <Plot title='Latency' times={times} say={duration} height={110} series={[line('p50', 'p50'), line('p95', 'p95', 3), line('p99', 'p99', 2)]} />
        <Plot
          title='Failures' times={times} say={perSecond} height={110}
          series={[line('handlers', 'failed', 2), line('timeouts', 'timeouts', 3), line('operations', 'operations', 1)]}
        />
      </div>
      <p class='muted small'>
        Since it was deployed: {count(now.events)} events, {count(now.timers)} timers, {count(now.failed)} failed, {count(now.timeouts)} timeouts; {count(now.backlog)} left.
      </p>
    </>
  )
}
