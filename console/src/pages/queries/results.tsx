// The rows of a query as a table.
import { useMemo } from 'preact/hooks'
import { href } from '../../router'
import { Empty, Table, type Column } from '../../ui'
import { cellText, numericOf, type Row } from './answer'

interface Numbered extends Row {
  n: number
}

/** Results shows rows; the id of a document leads to it. */
export function Results ({ db, rows, columns }: { db: string, rows: Row[], columns: string[] }) {
  const numbered = useMemo(() => rows.map((row, n) => ({ ...row, n })), [rows])
  const numbers = useMemo(() => numericOf(rows, columns), [rows, columns])
  const table = columns.map<Column<Numbered>>((name, i) => ({
    key: name, title: name, numeric: numbers.includes(name), width: 'minmax(96px, 1fr)', wide: i > 2,
    cell: row => {
      const text = cellText(row.cells[name])
      return row.id !== undefined && (name === '_id' || name === 'id')
        ? <a href={href(['databases', db], { doc: row.id })} title={text}>{text}</a>
        : <span title={text}>{text}</span>
    }
  }))
  if (table.length > 0 && !columns.includes('_id') && !columns.includes('id') && rows.some(row => row.id !== undefined)) {
    table.unshift({
      key: ' id', title: 'Document', width: 'minmax(96px, 1fr)',
      cell: row => row.id === undefined ? '' : <a href={href(['databases', db], { doc: row.id })}>{row.id}</a>
    })
  }
  if (rows.length === 0) return <Empty title='No rows'>The query is right, and nothing passes it.</Empty>
  return <Table label='Results' rows={numbered} rowKey={row => String(row.n)} columns={table} />
}
