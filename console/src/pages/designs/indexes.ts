// The indexes of a database as cards show them, whatever made them.
import { shortName, type DesignDoc } from '../../designs'

export type IndexKind = 'view' | 'search' | 'nouveau' | 'json' | 'text' | 'auto'

/** An index of `GET /db/_index`. */
export interface MangoIndex {
  ddoc: string | null
  name: string
  type: string
  def: { fields?: Record<string, string>[], values?: string[], partial_filter_selector?: unknown }
  state?: string
  reason?: string
  entries?: number
  bytes?: number
  documents_not_indexed?: number
  progress?: { documents_done: number, total_documents: number }
}

export interface IndexEntry {
  kind: IndexKind
  /** The design document without _design/. */
  ddoc: string
  name: string
  /** What it is of, in words. */
  about: string
  mango?: MangoIndex
}

export const KIND_WORDS: Record<IndexKind, string> = {
  view: 'view', search: 'full text (_search)', nouveau: 'full text (_nouveau)', json: 'Mango', text: 'Mango text', auto: 'all fields'
}

/** indexesOf are the indexes that design documents and Mango's list define, in the order of their documents. */
export function indexesOf (designs: DesignDoc[], mango: MangoIndex[]): IndexEntry[] {
  const written = designs.filter(one => one.language !== 'query').flatMap(one => {
    const ddoc = shortName(one._id)
    return [
      ...Object.entries(one.views ?? {}).filter(([name]) => name !== 'lib').map(([name, { reduce }]) => ({
        kind: 'view' as const, ddoc, name, about: typeof reduce !== 'string' ? 'map' : reduce.startsWith('_') ? `map, ${reduce}` : 'map, reduce'
      })),
      ...Object.entries(one.indexes ?? {}).map(([name, { analyzer }]) => ({
        kind: 'search' as const, ddoc, name, about: `analyzer ${analyzerName(analyzer)}`
      })),
      ...Object.entries(one.nouveau ?? {}).map(([name, index]) => ({
        kind: 'nouveau' as const, ddoc, name, about: `analyzer ${index.default_analyzer ?? 'standard'}`
      }))
    ]
  })
  const made = mango.filter(one => one.ddoc !== null).map(one => ({
    kind: mangoKind(one.type), ddoc: shortName(one.ddoc!), name: one.name, about: aboutMango(one), mango: one
  }))
  return [...written, ...made].sort((a, b) => a.ddoc < b.ddoc ? -1 : a.ddoc > b.ddoc ? 1 : 0)
}

const mangoKind = (type: string): IndexKind => type === 'json' || type === 'auto' ? type : 'text'

function analyzerName (analyzer: unknown): string {
  if (typeof analyzer === 'object' && analyzer !== null && 'name' in analyzer) return String(analyzer.name)
  return typeof analyzer === 'string' ? analyzer : 'standard'
}

function aboutMango ({ type, def }: MangoIndex): string {
  const fields = (def.fields ?? []).map(field => Object.entries(field).map(([name, order]) => order === 'asc' ? name : `${name} ${order}`).join()).join(', ')
  const filter = def.partial_filter_selector && Object.keys(def.partial_filter_selector).length > 0 ? ', of some documents' : ''
  const sums = def.values ? `, sums of ${def.values.join(', ')}` : ''
  return (fields || (type === 'json' ? 'no fields' : 'all fields')) + sums + filter
}

/** What an index is doing, and how large it is. */
export interface IndexState {
  tone: 'done' | 'running' | 'waiting' | 'failed'
  word: string
  reason?: string
  bytes?: number
  /** Documents that it cannot hold, if that is counted. */
  errors?: number
}

interface Info {
  state?: string
  reason?: string
}

interface ViewInfo extends Info {
  view_index: { updates_pending: { total: number }, updater_running: boolean, sizes: { active: number } }
}

interface SearchInfo {
  search_index: Info & { pending_seq?: number, committed_seq?: number, disk_size: number, error_count?: number }
}

/** viewState reads `_info`, which is of all views of a design document. */
export function viewState ({ state, reason, view_index: v }: ViewInfo): IndexState {
  const bytes = v.sizes.active
  if (state === 'paused') return { tone: 'waiting', word: 'paused', bytes, ...(reason && { reason }) }
  if (v.updater_running) return { tone: 'running', word: 'building', bytes }
  const behind = v.updates_pending.total
  return behind > 0 ? { tone: 'waiting', word: `${behind} ${behind === 1 ? 'change' : 'changes'} behind`, bytes } : { tone: 'done', word: 'up to date', bytes }
}

/** searchState reads `_search_info` or `_nouveau_info`. */
export function searchState ({ search_index: s }: SearchInfo): IndexState {
  const rest = { bytes: s.disk_size, ...(s.error_count !== undefined && { errors: s.error_count }), ...(s.reason && { reason: s.reason }) }
  if (s.state === 'paused') return { tone: 'waiting', word: 'paused', ...rest }
  const behind = (s.pending_seq ?? 0) - (s.committed_seq ?? 0)
  return behind > 0 ? { tone: 'waiting', word: `${behind} ${behind === 1 ? 'change' : 'changes'} behind`, ...rest } : { tone: 'done', word: 'up to date', ...rest }
}

/** allFieldsState reads what Mango's list says of an index over all fields. */
export function allFieldsState (index: MangoIndex): IndexState {
  const rest = { ...(index.bytes !== undefined && { bytes: index.bytes }), ...(index.reason && { reason: index.reason }) }
  const tone = index.state === 'ready' ? 'done' : index.state === 'building' ? 'running' : 'waiting'
  return { tone, word: index.state ?? 'unknown', ...rest, ...(index.documents_not_indexed !== undefined && { errors: index.documents_not_indexed }) }
}

/** A task of `_active_tasks`. */
export interface Task {
  type: string
  database?: string
  design_document?: string
  progress?: number
  started_on?: number
  updated_on?: number
}

/** progressOf is how far the build of a design document is, 0 to 1, and the seconds that it takes still. */
export function progressOf (tasks: Task[], db: string, ddoc: string): { share: number, left: number | undefined } | undefined {
  const task = tasks.find(one => one.database === db && one.design_document === `_design/${ddoc}` && one.progress !== undefined)
  if (!task) return undefined
  const share = task.progress! / 100
  const took = (task.updated_on ?? 0) - (task.started_on ?? 0)
  return { share, left: share > 0 && took > 0 ? took * (1 - share) / share : undefined }
}
