// Places in a text of JSON: where it is broken, and which member an error of the server names.
import type { Doc, Filter } from './types'

/** A text that is not JSON: the browser's words, and the character where it stops. */
export interface Broken {
  error: string
  at: number
}

/** brokenAt says where a text of JSON is broken, by the words of the browser's parser. */
export function brokenAt (error: Error, text: string): Broken {
  const place = /position (\d+)/.exec(error.message)
  const lined = /line (\d+) column (\d+)/.exec(error.message)
  let at = text.length
  if (place) at = Number(place[1])
  else if (lined) at = text.split('\n').slice(0, Number(lined[1]) - 1).join('\n').length + Number(lined[2])
  const said = error.message.replace(/^JSON\.parse: /, '').replace(/,? ?(in JSON )?at (position|line) .*$/, '').replace(/, ?"?.*is not valid JSON$/s, '')
  return { error: said, at: Math.min(at, text.length) }
}

/** parseDoc reads an object of JSON. */
export function parseDoc (text: string): { doc: Doc } | Broken {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return brokenAt(error as Error, text)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: 'An object {…} is expected', at: 0 }
  return { doc: value as Doc }
}

/** parseFilter reads what is typed above the list: a selector if it begins with "{", else the begin of an id. */
export function parseFilter (text: string): { filter: Filter } | Broken {
  if (text === '') return { filter: { kind: 'all' } }
  if (!/^\s*\{/.test(text)) return { filter: { kind: 'prefix', prefix: text } }
  const read = parseDoc(text)
  return 'doc' in read ? { filter: { kind: 'selector', selector: read.doc } } : read
}

/** A piece of a text, in characters from its start. */
export interface Piece {
  from: number
  to: number
}

// keysOf finds the names of members in a text of JSON, in their order.
function keysOf (text: string): (Piece & { name: string })[] {
  const found = []
  for (const match of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)) {
    if (match[2] === undefined) continue
    try {
      found.push({ name: JSON.parse(match[1]!) as string, from: match.index, to: match.index + match[1]!.length })
    } catch {}
  }
  return found
}

/**
 * memberNamed finds the member that the words of an error name: a name in quotation marks before one without, a longer
 * one before a shorter one; "address.city" is city after address. Undefined if none is named.
 */
export function memberNamed (reason: string, text: string): Piece | undefined {
  const keys = keysOf(text)
  const within = (word: string): Piece | undefined => {
    let at = 0
    let key: Piece | undefined
    for (const name of word.split('.')) {
      key = keys.find(one => one.name === name && one.from >= at)
      if (!key) return undefined
      at = key.to
    }
    return key
  }
  const quoted = [...reason.matchAll(/["'`‘“]([^"'`’”]+)["'`’”]/g)].map(match => match[1]!)
  const words = [...new Set(reason.match(/[\w$@-]+(\.[\w$@-]+)*/g) ?? [])].sort((a, b) => b.length - a.length)
  for (const word of [...quoted, ...words]) {
    const key = within(word)
    if (key) return { from: key.from, to: key.to }
  }
  return undefined
}
