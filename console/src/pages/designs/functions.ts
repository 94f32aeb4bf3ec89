// The functions of a design document, each by its path.
import type { DesignDoc } from '../../designs'

export interface FunctionEntry {
  /** Where it stands: ["views", "byday", "map"]. */
  path: string[]
  title: string
  source: string
}

const GROUPS: Record<string, string> = { filters: 'filter', updates: 'update', shows: 'show', lists: 'list' }

/** functionsOf are the functions of a design document. Reduce functions are listed if they are code. */
export function functionsOf (design: DesignDoc): FunctionEntry[] {
  const made: FunctionEntry[] = []
  const add = (path: string[], title: string, source: unknown) => { if (typeof source === 'string') made.push({ path, title, source }) }
  for (const [name, view] of Object.entries(design.views ?? {})) {
    if (name === 'lib') continue
    add(['views', name, 'map'], `${name} map`, view.map)
    if (typeof view.reduce === 'string' && !view.reduce.startsWith('_')) add(['views', name, 'reduce'], `${name} reduce`, view.reduce)
  }
  for (const [name, index] of Object.entries(design.indexes ?? {})) add(['indexes', name, 'index'], `${name} search index`, index.index)
  for (const [name, index] of Object.entries(design.nouveau ?? {})) add(['nouveau', name, 'index'], `${name} nouveau index`, index.index)
  for (const [group, word] of Object.entries(GROUPS)) {
    for (const [name, source] of Object.entries((design[group] ?? {}) as Record<string, unknown>)) add([group, name], `${word} ${name}`, source)
  }
  add(['validate_doc_update'], 'validate_doc_update', design.validate_doc_update)
  add(['rewrites'], 'rewrites', design.rewrites)
  return made
}

/** withValue is a design document with a value at a path, or without it where the value is undefined. */
export function withValue (design: DesignDoc, [first, ...rest]: string[], value: unknown): DesignDoc {
  const set = (object: Record<string, unknown>, name: string, more: string[]): Record<string, unknown> => {
    const inner = more.length === 0 ? value : set((object[name] ?? {}) as Record<string, unknown>, more[0]!, more.slice(1))
    if (inner !== undefined) return { ...object, [name]: inner }
    const { [name]: _, ...others } = object
    return others
  }
  return set(design, first!, rest) as DesignDoc
}

export type NewKind = 'view' | 'filter' | 'update' | 'validate' | 'search' | 'nouveau'

/** What a new function of a kind begins with. */
export const TEMPLATES: Record<NewKind, { title: string, path: (name: string) => string[], value: unknown }> = {
  view: { title: 'View', path: name => ['views', name], value: { map: 'function (doc) {\n  emit(doc.type, null)\n}' } },
  filter: { title: 'Filter', path: name => ['filters', name], value: 'function (doc, req) {\n  return doc.type === req.query.type\n}' },
  update: {
    title: 'Update function', path: name => ['updates', name],
    value: "function (doc, req) {\n  doc.seen = new Date().toISOString()\n  return [doc, 'seen']\n}"
  },
  validate: {
    title: 'Validation', path: () => ['validate_doc_update'],
    value: "function (newDoc, oldDoc, userCtx, secObj) {\n  if (newDoc._deleted) return\n  if (!newDoc.type) throw {forbidden: 'type is missing'}\n}"
  },
  search: {
    title: 'Search index', path: name => ['indexes', name],
    value: { analyzer: 'standard', index: "function (doc) {\n  if (doc.name) index('default', doc.name, {store: true})\n}" }
  },
  nouveau: {
    title: 'Nouveau index', path: name => ['nouveau', name],
    value: { default_analyzer: 'standard', index: "function (doc) {\n  if (doc.name) index('text', 'name', doc.name, {store: true})\n}" }
  }
}

/** Where a compilation error stands: the path of the function if the reason names it, and the line. */
export function placeOfError (reason: string): { path: string[] | undefined, line: number | undefined } {
  const view = /of the (map|reduce) function in the '(.*?)' view/.exec(reason)
  const line = /Line (\d+)/.exec(reason) ?? /", (\d+)\)/.exec(reason)
  return { path: view ? ['views', view[2]!, view[1]!] : undefined, line: line ? Number(line[1]) : undefined }
}

/** lineRange are where a line of a text, from 1, begins and ends, without the spaces before it. */
export function lineRange (text: string, line: number): { from: number, to: number } {
  const lines = text.split('\n')
  const at = Math.max(1, Math.min(lines.length, line))
  const whole = lines[at - 1]!
  const start = lines.slice(0, at - 1).reduce((sum, one) => sum + one.length + 1, 0)
  return { from: start + whole.length - whole.trimStart().length, to: start + whole.length }
}
