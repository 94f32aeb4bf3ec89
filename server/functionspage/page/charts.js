// Live graphs of a function: samples of its statistics, and SVG drawn from what lies between them.
import { h, number, replace, svg } from './dom.js'

const KEPT = 150 // samples, five minutes
const WIDTH = 300
const HEIGHT = 84
const BOTTOM = HEIGHT - 4

const PERCENTILES = [['p50', 0.5], ['p95', 0.95], ['p99', 0.99]]

const sum = (group, ...names) => names.reduce((total, name) => total + (group?.[name] ?? 0), 0)

// What graphs are made of, in one sample of the statistics.
function read (stats) {
  const { execution_stats: run, failure_stats: failed } = stats
  return {
    time: performance.now(),
    backlog: stats.events_remaining?.dcp_backlog ?? 0,
    events: sum(run, 'num_processed_events'),
    timers: sum(run, 'timer_msg_counter'),
    failed: sum(run, 'on_update_failure', 'on_delete_failure', 'timer_callback_failure'),
    timeouts: sum(failed, 'timeout_count'),
    operations: sum(failed, 'bucket_op_exception_count', 'n1ql_op_exception_count', 'curl_failure_count'),
    latency: stats.latency_stats ?? {}
  }
}

// The rates between two samples. Counters that went back were reset: they count from 0.
function between (a, b) {
  const seconds = (b.time - a.time) / 1000
  const rate = name => Math.max(0, b[name] < a[name] ? b[name] : b[name] - a[name]) / seconds
  const point = { backlog: b.backlog }
  for (const name of ['events', 'timers', 'failed', 'timeouts', 'operations']) point[name] = rate(name)
  return Object.assign(point, percentiles(a.latency, b.latency))
}

// Percentiles, in milliseconds, of what came to a histogram between two samples; null where nothing did.
function percentiles (before, after) {
  const rows = Object.entries(after).map(([us, n]) => [Number(us), n - (before[us] ?? 0)])
  const reset = rows.some(([, n]) => n < 0)
  const counts = (reset ? Object.entries(after).map(([us, n]) => [Number(us), n]) : rows).filter(([, n]) => n > 0)
  counts.sort(([a], [b]) => a - b)
  const total = counts.reduce((n, [, count]) => n + count, 0)
  return Object.fromEntries(PERCENTILES.map(([name, part]) => {
    let seen = 0
    const row = counts.find(([, n]) => (seen += n) >= total * part)
    return [name, row ? row[0] / 1000 : null]
  }))
}

const GRAPHS = [
  { title: 'Throughput', unit: '/s', lines: [['events', 'events'], ['timers', 'timers']] },
  { title: 'Backlog', unit: '', lines: [['events left', 'backlog']] },
  { title: 'Latency', unit: ' ms', lines: PERCENTILES.map(([name]) => [name, name]) },
  {
    title: 'Failures',
    unit: '/s',
    lines: [['handlers', 'failed'], ['timeouts', 'timeouts'], ['operations', 'operations']]
  }
]

// The graphs of one function.
export class Charts {
  constructor () {
    this.last = null
    this.points = []
    this.element = h('section', { class: 'charts', 'aria-label': 'Live graphs' })
    this.totals = h('p', { class: 'totals', id: 'totals' })
    this.draw()
  }

  // Takes a sample of the statistics; null where there are none.
  add (stats) {
    if (!stats) {
      this.last = null
      replace(this.totals, 'No statistics: the function is not deployed.')
      return
    }
    const now = read(stats)
    if (this.last) this.points = [...this.points, between(this.last, now)].slice(-KEPT)
    this.last = now
    replace(this.totals, `Since it was deployed: ${number(now.events)} events, ${number(now.timers)} timers, ` +
      `${number(now.failed)} failed, ${number(now.timeouts)} timeouts; ${number(now.backlog)} left.`)
    this.draw()
  }

  draw () { replace(this.element, GRAPHS.map(graph => this.graph(graph))) }

  graph ({ title, unit, lines }) {
    const values = lines.flatMap(([, name]) => this.points.map(point => point[name] ?? 0))
    const top = nice(Math.max(...values, 0))
    const latest = lines.map(([label, name]) => [label, this.points.at(-1)?.[name] ?? null])
    const said = latest.map(([label, value]) => `${label} ${value === null ? 'none' : number(value) + unit}`)
    return h('figure', { 'data-graph': title.toLowerCase() },
      h('figcaption', {}, h('strong', {}, title), latest.map(([label, value], i) =>
        h('span', { class: `series series-${i}` }, `${label} `,
          h('b', {}, value === null ? '–' : number(value) + unit)))),
      svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}: ${said.join(', ')}` },
        [0, 0.5, 1].map(part => svg('line', {
          class: 'grid', x1: 0, x2: WIDTH, y1: BOTTOM - part * (BOTTOM - 4), y2: BOTTOM - part * (BOTTOM - 4)
        })),
        lines.map(([, name], i) => this.pieces(name, top).map(points =>
          svg('polyline', { class: `line line-${i}`, points }))),
        svg('text', { class: 'top', x: 2, y: 13 }, number(top) + unit)))
  }

  // The points of a line, in pieces where there is nothing between.
  pieces (name, top) {
    const pieces = [[]]
    this.points.forEach((point, i) => {
      if (point[name] === null) return pieces.push([])
      const x = WIDTH - (this.points.length - 1 - i) * WIDTH / (KEPT - 1)
      pieces.at(-1).push(`${x.toFixed(1)},${(BOTTOM - point[name] / top * (BOTTOM - 4)).toFixed(1)}`)
    })
    return pieces.filter(piece => piece.length > 0).map(piece => {
      if (piece.length === 1) piece.push(`${Number(piece[0].split(',')[0]) - 1.5},${piece[0].split(',')[1]}`)
      return piece.join(' ')
    })
  }
}

// The next number of the form 1, 2, 5, 10 … above a value, so that the scale does not move with each sample.
function nice (value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].find(step => step * power >= value) * power
}
