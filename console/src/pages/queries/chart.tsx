// Two columns of a result as bars or as a line.
import { useState } from 'preact/hooks'
import { count } from '../../format'
import { Empty } from '../../ui'
import { cellText, numericOf, type Row } from './answer'

const MOST = 60
const WIDTH = 560

export function Chart ({ rows, columns }: { rows: Row[], columns: string[] }) {
  const numbers = numericOf(rows, columns)
  const [shape, setShape] = useState<'bars' | 'line'>('bars')
  const [label, setLabel] = useState<string>()
  const [number, setNumber] = useState<string>()
  const y = number !== undefined && numbers.includes(number) ? number : numbers.at(-1)
  const x = label !== undefined && columns.includes(label) ? label : columns.find(name => name !== y) ?? y
  if (y === undefined || x === undefined) return <Empty title='Nothing to draw'>A chart needs a column of numbers beside one of labels.</Empty>
  const points = rows.slice(0, MOST).map(row => ({ label: cellText(row.cells[x]), value: Number(row.cells[y] ?? 0) }))
  return (
    <div class='stack chart'>
      <div class='row'>
        <Choice label='Labels' names={columns} value={x} onChange={setLabel} />
        <Choice label='Numbers' names={numbers} value={y} onChange={setNumber} />
        <Choice label='Shape' names={['bars', 'line']} value={shape} onChange={value => setShape(value as 'bars' | 'line')} />
        {rows.length > MOST && <span class='muted small'>The first {MOST} of {count(rows.length)} rows</span>}
      </div>
      {shape === 'bars' ? <Bars points={points} title={`${y} by ${x}`} /> : <Line points={points} title={`${y} by ${x}`} />}
    </div>
  )
}

function Choice ({ label, names, value, onChange }: { label: string, names: string[], value: string, onChange: (value: string) => void }) {
  return (
    <label class='row'>
      {label}
      <select value={value} onChange={event => onChange(event.currentTarget.value)}>{names.map(name => <option key={name}>{name}</option>)}</select>
    </label>
  )
}

interface Points {
  points: { label: string, value: number }[]
  title: string
}

const ROW = 24
const LABEL = 140
const cut = (text: string, most: number) => text.length > most ? `${text.slice(0, most - 1)}…` : text

// Bars from zero to the right, or to the left where a value is below it.
function Bars ({ points, title }: Points) {
  const low = Math.min(0, ...points.map(point => point.value))
  const high = Math.max(0, ...points.map(point => point.value))
  const scale = (WIDTH - LABEL - 90) / (high - low || 1)
  const zero = LABEL - low * scale
  return (
    <svg viewBox={`0 0 ${WIDTH} ${points.length * ROW}`} role='img' aria-label={title} class='drawing'>
      {points.map(({ label, value }, i) => (
        <g key={i}>
          <title>{`${label}: ${value}`}</title>
          <text x={LABEL - 8} y={i * ROW + 16} text-anchor='end'>{cut(label, 20)}</text>
          <rect x={value < 0 ? zero + value * scale : zero} y={i * ROW + 4} width={Math.max(1, Math.abs(value) * scale)} height={ROW - 8} rx='2' />
          <text x={zero + Math.max(0, value) * scale + 6} y={i * ROW + 16} class='value'>{count(value)}</text>
        </g>
      ))}
    </svg>
  )
}

const HEIGHT = 280

function Line ({ points, title }: Points) {
  const low = Math.min(0, ...points.map(point => point.value))
  const high = Math.max(0, ...points.map(point => point.value))
  const x = (i: number) => 70 + i * (WIDTH - 100) / Math.max(1, points.length - 1)
  const y = (value: number) => HEIGHT - 40 - (value - low) * (HEIGHT - 60) / (high - low || 1)
  const every = Math.ceil(points.length / 8)
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role='img' aria-label={title} class='drawing'>
      {[low, (low + high) / 2, high].map(value => (
        <g key={value}>
          <line x1='70' x2={WIDTH - 30} y1={y(value)} y2={y(value)} class='grid' />
          <text x='62' y={y(value) + 4} text-anchor='end'>{count(value)}</text>
        </g>
      ))}
      <polyline points={points.map((point, i) => `${x(i)},${y(point.value)}`).join(' ')} />
      {points.map(({ label, value }, i) => (
        <g key={i}>
          <circle cx={x(i)} cy={y(value)} r='3'><title>{`${label}: ${value}`}</title></circle>
          {i % every === 0 && <text x={x(i)} y={HEIGHT - 14} text-anchor='middle'>{cut(label, 12)}</text>}
        </g>
      ))}
    </svg>
  )
}
