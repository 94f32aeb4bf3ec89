// A list of any length: only the rows that can be seen are in the page.
import { type ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

const ROW = 32 // pixels; the style sheet has the same
const SPARE = 8 // rows above and below what is seen
const AHEAD = 48 // rows below what is seen: with fewer left, more are asked for

export interface Column<R> {
  key: string
  title: ComponentChildren
  cell: (row: R) => ComponentChildren
  /** A width of the grid: "1fr", "120px", "minmax(80px, 2fr)". Default 1fr. */
  width?: string
  /** Numbers are right-aligned with tabular digits. */
  numeric?: boolean
  /** Left out where the page is as narrow as a phone. */
  wide?: boolean
  /** Sorts by this column when its title is chosen. */
  sort?: () => void
  sorted?: 'ascending' | 'descending' | undefined
}

interface TableProps<R> {
  label: string
  columns: Column<R>[]
  rows: readonly R[]
  rowKey: (row: R) => string
  chosen?: string | undefined
  onChoose?: (row: R) => void
  /** Enter or a second click. Default: nothing. */
  onOpen?: (row: R) => void
  /** Rows with a check mark; with onMark each row has a box. */
  marked?: ReadonlySet<string>
  onMark?: (keys: Set<string>) => void
  /** Asked for when the end of the rows comes near. */
  more?: (() => void) | undefined
  /** How many rows there are in all, if that is known. */
  total?: number
  /** A class for a row: "deleted", "fresh". */
  rowClass?: (row: R) => string | undefined
  empty?: ComponentChildren
}

/**
 * Table shows rows in columns. Arrow keys, Page Up and Down, Home and End move the choice, Enter opens, the space bar
 * marks. With `more`, further rows are asked for as the end comes near.
 */
export function Table<R> (props: TableProps<R>) {
  const { columns, rows, rowKey, chosen, onChoose, onOpen, marked, onMark, more, total } = props
  const box = useRef<HTMLDivElement>(null)
  const id = useId()
  const [seen, setSeen] = useState({ top: 0, height: 600 })
  const [narrow, setNarrow] = useState(false)
  useLayoutEffect(() => {
    const element = box.current!
    const measure = () => {
      setNarrow(element.clientWidth < 520)
      setSeen({ top: element.scrollTop, height: element.clientHeight })
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])

  const shown = columns.filter(column => !narrow || !column.wide)
  const grid = (onMark ? '32px ' : '') + shown.map(column => column.width ?? '1fr').join(' ')
  useLayoutEffect(() => { box.current!.style.setProperty('--grid', grid) }, [grid])

  const first = Math.max(0, Math.floor(seen.top / ROW) - SPARE)
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / ROW) + SPARE)
  const near = last >= rows.length - AHEAD
  useEffect(() => { if (near && more) more() }, [near, more, rows.length])

  const at = chosen === undefined ? -1 : rows.findIndex(row => rowKey(row) === chosen)
  const choose = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    const row = rows[next]
    if (row === undefined || !onChoose) return
    onChoose(row)
    const element = box.current!
    const y = next * ROW
    if (y < element.scrollTop) element.scrollTop = y
    else if (y + 2 * ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + 2 * ROW - element.clientHeight
  }
  const toggle = (key: string) => {
    const next = new Set(marked)
    if (!next.delete(key)) next.add(key)
    onMark!(next)
  }
  const keys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(seen.height / ROW) - 2)
    const moves: Record<string, number> = {
      ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1
    }
    const to = moves[event.key]
    const row = rows[at]
    if (to !== undefined) choose(to)
    else if (event.key === 'Enter' && row !== undefined && onOpen) onOpen(row)
    else if (event.key === ' ' && row !== undefined && onMark) toggle(rowKey(row))
    else return
    event.preventDefault()
  }
  const space = (n: number) => <div ref={element => { if (element) element.style.height = `${n * ROW}px` }} />
  return (
    <div
      ref={box} class={onChoose ? 'table choosable' : 'table'} role='grid' aria-label={props.label} tabIndex={0} onKeyDown={keys}
      aria-rowcount={total ?? (more ? -1 : rows.length + 1)} aria-activedescendant={at >= first && at < last ? `${id}-${at}` : undefined}
    >
      <div class='head' role='row'>
        {onMark && (
          <span role='columnheader'>
            <input
              type='checkbox' aria-label='Mark all rows that are loaded' checked={rows.length > 0 && marked?.size === rows.length}
              onChange={event => onMark(new Set(event.currentTarget.checked ? rows.map(rowKey) : []))}
            />
          </span>
        )}
        {shown.map(column => (
          <span key={column.key} role='columnheader' class={column.numeric ? 'numeric' : undefined} aria-sort={column.sorted}>
            {column.sort ? <button type='button' onClick={column.sort}>{column.title}</button> : column.title}
          </span>
        ))}
      </div>
      {space(first)}
      {rows.slice(first, last).map((row, i) => {
        const key = rowKey(row)
        return (
          <div
            key={key} id={`${id}-${first + i}`} role='row' aria-rowindex={first + i + 2} aria-selected={onChoose ? key === chosen : undefined}
            class={props.rowClass?.(row)} onClick={() => onChoose?.(row)} onDblClick={() => onOpen?.(row)}
          >
            {onMark && (
              <span role='gridcell' onClick={event => event.stopPropagation()}>
                <input type='checkbox' aria-label={`Mark ${key}`} checked={marked?.has(key)} tabIndex={-1} onChange={() => toggle(key)} />
              </span>
            )}
            {shown.map(column => (
              <span key={column.key} role='gridcell' class={column.numeric ? 'numeric' : undefined}>{column.cell(row)}</span>
            ))}
          </div>
        )
      })}
      {space(rows.length - last)}
      {rows.length === 0 && !more && <div role='row' class='none'><div role='gridcell'>{props.empty ?? 'Nothing here.'}</div></div>}
    </div>
  )
}
