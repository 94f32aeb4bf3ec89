// Documents out of a file: lines of JSON, an array of JSON, or rows with a header. The file is read in pieces.
import { docOf, LONGEST, rowsOf } from './csv'
import type { Doc } from './types'

/** A document of a file with the number of its line, row or element; or why it is none. */
export type Read = { at: number, doc: Doc } | { at: number, error: string }

type Format = 'lines' | 'array' | 'csv'

/** formatOf says how a file is written, by its first characters and its name. */
export function formatOf (begin: string, name: string): Format {
  const text = begin.replace(/^\ufeff/, '').trimStart()
  if (text.startsWith('[')) return 'array'
  if (text.startsWith('{')) return 'lines'
  return /\.(json|jsonl|ndjson)$/i.test(name) ? 'lines' : 'csv'
}

function read (at: number, text: string): Read {
  try {
    const doc: unknown = JSON.parse(text)
    if (typeof doc !== 'object' || doc === null || Array.isArray(doc)) return { at, error: 'It is no object {…}.' }
    return { at, doc: doc as Doc }
  } catch (error) {
    return { at, error: (error as Error).message }
  }
}

async function * linesOf (pieces: AsyncIterable<string>): AsyncGenerator<Read> {
  let rest = ''
  let at = 0
  for await (const piece of pieces) {
    const parts = (rest + piece).split('\n')
    rest = parts.pop()!
    if (rest.length > LONGEST) throw new Error('A line is longer than 64 MB.')
    for (const line of parts) {
      at++
      if (line.trim() !== '') yield read(at, line)
    }
  }
  if (rest.trim() !== '') yield read(at + 1, rest)
}

// elementsOf finds the elements of an array by its brackets, outside of texts.
async function * elementsOf (pieces: AsyncIterable<string>): AsyncGenerator<Read> {
  let element = ''
  let depth = 0
  let inside = false
  let escaped = false
  let at = 0
  for await (const piece of pieces) {
    let begin = 0
    for (let i = 0; i < piece.length; i++) {
      const letter = piece[i]!
      if (escaped) escaped = false
      else if (inside) {
        if (letter === '\\') escaped = true
        else if (letter === '"') inside = false
      } else if (letter === '"') inside = true
      else if (letter === '[' || letter === '{') {
        if (++depth === 1) begin = i + 1
      } else if (letter === ']' || letter === '}' || (letter === ',' && depth === 1)) {
        if (letter !== ',') depth--
        if (letter === ',' || depth === 0) {
          element += piece.slice(begin, i)
          if (element.trim() !== '') yield read(++at, element)
          element = ''
          begin = i + 1
          if (depth === 0) return
        }
      }
    }
    element += piece.slice(begin)
    if (element.length > LONGEST) throw new Error('An element is longer than 64 MB.')
  }
  throw new Error('The array is not closed: the file may have been cut off.')
}

async function * tableOf (pieces: AsyncIterable<string>): AsyncGenerator<Read> {
  let header: string[] | undefined
  let at = 0
  for await (const row of rowsOf(pieces)) {
    at++
    if (!header) header = row
    else {
      try {
        yield { at, doc: docOf(header, row) }
      } catch (error) {
        yield { at, error: (error as Error).message }
      }
    }
  }
}

/** documentsIn reads the documents of a file that comes in pieces. Throws where the rest cannot be read. */
export async function * documentsIn (pieces: AsyncIterable<string>, name: string): AsyncGenerator<Read> {
  const iterator = pieces[Symbol.asyncIterator]()
  let begin = ''
  while (begin.trim() === '') {
    const { done, value } = await iterator.next()
    if (done) return
    begin += value
  }
  const whole = (async function * () {
    yield begin.replace(/^\ufeff/, '')
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      yield value
    }
  })()
  const format = formatOf(begin, name)
  yield * format === 'array' ? elementsOf(whole) : format === 'lines' ? linesOf(whole) : tableOf(whole)
}
