// Values separated by commas, as RFC 4180 has them: rows out of text that comes in pieces, and text out of rows.
import type { Doc } from './types'

/** The most characters of one row, so that a quotation mark that is never closed does not take all memory. */
export const LONGEST = 64 * 1024 * 1024

/** rowsOf gives the rows of a text that comes in pieces; lines without anything are left out. */
export async function * rowsOf (pieces: AsyncIterable<string>): AsyncGenerator<string[]> {
  let cells: string[] = []
  let cell = ''
  let length = 0
  // Within quotation marks; behind one that may end the cell or be the first of two; neither.
  let state: 'inside' | 'mark' | 'outside' = 'outside'
  const ended = () => {
    const row = [...cells, cell.endsWith('\r') && state === 'outside' ? cell.slice(0, -1) : cell]
    cells = []
    cell = ''
    length = 0
    state = 'outside'
    return row.length > 1 || row[0] !== '' ? row : undefined
  }
  for await (const piece of pieces) {
    for (const letter of piece) {
      if (++length > LONGEST) throw new Error('A row is longer than 64 MB: a quotation mark may not be closed.')
      if (state === 'inside') {
        if (letter === '"') state = 'mark'
        else cell += letter
      } else if (letter === '"' && (state === 'mark' || cell === '')) {
        if (state === 'mark') cell += '"'
        state = 'inside'
      } else if (letter === ',') {
        cells.push(cell)
        cell = ''
        state = 'outside'
      } else if (letter === '\n') {
        const row = ended()
        if (row) yield row
      } else if (letter !== '\r' || state !== 'mark') {
        cell += letter
        state = 'outside'
      }
    }
  }
  if (state === 'inside') throw new Error('A quotation mark is not closed.')
  const row = ended()
  if (row) yield row
}

// valueOf reads a cell: numbers, true, false, null and JSON in brackets are values, all else is text.
function valueOf (cell: string): unknown {
  if (cell === 'true' || cell === 'false' || cell === 'null') return JSON.parse(cell)
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(cell) && String(Number(cell)) === cell) return Number(cell)
  if (/^[[{"]/.test(cell)) {
    try {
      return JSON.parse(cell)
    } catch {}
  }
  return cell
}

/** docOf makes a document of a row: the header names its members, and an empty cell is no member. */
export function docOf (header: string[], row: string[]): Doc {
  if (row.length > header.length) throw new Error(`It has ${row.length} cells, and the header has ${header.length}.`)
  const doc: Doc = {}
  row.forEach((cell, i) => {
    const name = header[i]!
    if (cell !== '' && name !== '') doc[name] = name === '_id' ? cell : valueOf(cell)
  })
  return doc
}

// cellOf says a value so that valueOf reads it again: a text that looks like something else is JSON.
function cellOf (value: unknown): string {
  if (value === undefined) return ''
  if (typeof value !== 'string') return JSON.stringify(value)
  return value === '' || valueOf(value) !== value ? JSON.stringify(value) : value
}

const quotedCell = (cell: string): string => /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

/** csvRow is a line of a file: the members of a document with these names. */
export function csvRow (doc: Doc, names: string[]): string {
  const cells = names.map(name => name === '_id' ? String(doc[name] ?? '') : cellOf(doc[name]))
  return cells.map(quotedCell).join(',') + '\r\n'
}

/** csvHeader is the first line of a file. */
export const csvHeader = (names: string[]): string => names.map(quotedCell).join(',') + '\r\n'
