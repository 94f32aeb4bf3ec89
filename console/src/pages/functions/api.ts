// The API of event functions, as the page asks it.
import { ask, get, path, post, remove, send, failure, ApiError, type Options } from '../../api'

const API = '/_eventing/api/v1'
const quiet: Options = { quiet: true }

export type Composite = 'undeployed' | 'deploying' | 'deployed' | 'pausing' | 'paused' | 'resuming' | 'undeploying'

/** Where a function belongs: a database, or the whole server ("*"). */
export interface Scope {
  bucket: string
  scope: string
}

export interface Status {
  name: string
  composite_status: Composite
  function_scope: Scope
  redeploy_required?: boolean
}

export interface Binding {
  [member: string]: unknown
}

export interface Deps {
  source_bucket: string
  metadata_bucket?: string
  buckets?: Binding[]
  curl?: Binding[]
  constants?: Binding[]
  [further: string]: unknown
}

export interface Definition {
  appname: string
  appcode: string
  depcfg: Deps
  settings: Record<string, unknown>
}

export interface CompileError {
  line_number: number
  column_number: number
  description: string
}

export interface LogLine {
  time?: string
  level?: string
  id?: string
  callback?: string
  reference?: string
  dropped?: number
  at?: string
  text?: string
}

export interface LineStats {
  call_count: number
  call_time: number
  error_count: number
  error_msg?: string
  last_log?: string
}

export interface Stats {
  events_remaining?: { dcp_backlog?: number }
  execution_stats?: Record<string, number>
  failure_stats?: Record<string, number>
  latency_stats?: Record<string, number>
}

/** compileError is where code does not compile, if that is what an error says. */
export function compileError (error: unknown): CompileError | undefined {
  const about = error instanceof ApiError ? (error.body as { description?: unknown }).description : undefined
  return typeof about === 'object' && about !== null && 'line_number' in about ? about as CompileError : undefined
}

/** words are what an error of this API says. */
export function words (error: Error): string {
  const body = error instanceof ApiError ? error.body as { description?: unknown, info?: unknown } : {}
  const at = compileError(error)
  if (at) return `line ${at.line_number}, column ${at.column_number}: ${at.description}`
  return String(body.description ?? body.info ?? error.message)
}

export async function statuses (options: Options): Promise<Status[]> {
  return (await get<{ apps?: Status[] | null }>(`${API}/status`, undefined, { ...options, ...quiet })).apps ?? []
}

/** keyOf is what a function is known by in places: scope and name. */
export const keyOf = ({ name, function_scope: { bucket, scope } }: Status): string => `${bucket}/${scope}/${name}`

export function fromKey (key: string): { name: string, scope: Scope } | undefined {
  const match = /^([^/]*)\/([^/]*)\/(.*)$/s.exec(key)
  return match ? { name: match[3]!, scope: { bucket: match[1]!, scope: match[2]! } } : undefined
}

export const exportAll = (): Promise<unknown> => get(`${API}/export`)
export const importAll = (text: string) =>
  ask<{ code: number, info?: unknown, name?: string }[]>(`${API}/import`, { method: 'POST', text })

export const config = () => get<{ enable_debugger: boolean }>(`${API}/config`, undefined, quiet)
export const changeConfig = (changed: Record<string, unknown>) => post(`${API}/config`, changed)

interface Warned {
  warning_info?: string[]
}

/** One function: its calls. */
export class FunctionApi {
  readonly path: string

  constructor (readonly name: string, readonly scope: Scope) {
    this.path = `${API}/functions` + path`/${name}`
  }

  private query (more: Record<string, unknown> = {}) {
    return { bucket: this.scope.bucket, scope: this.scope.scope, ...more }
  }

  private post<T> (part: string, body?: unknown, more?: Record<string, unknown>) {
    return post<T>(this.path + part, body, { query: this.query(more) })
  }

  get = () => get<Definition>(this.path, this.query(), quiet)
  create = (definition: Definition) => this.post('', definition)
  remove = () => remove(this.path, this.query())
  saveSettings = (changed: Record<string, unknown>) => this.post<Warned>('/settings', changed)
  saveBindings = (deps: Deps) => this.post<Warned>('/config', deps)
  operate = (operation: string) => this.post<{ info?: string }>(`/${operation}`, undefined, { wait: '60s' })
  test = (event: unknown) => this.post<Trial>('/test', event)
  insight = () => get<{ script: string, lines: Record<string, LineStats> }>(
    `${API}/getInsight`, { name: this.name, ...this.query({ aggregate: 'true' }) }, quiet)

  async saveCode (text: string): Promise<Warned> {
    return (await ask<Warned>(`${this.path}/appcode`, { method: 'POST', text, type: 'text/plain', query: this.query() })).value
  }

  /** The statistics; undefined while it is undeployed. */
  async stats (): Promise<Stats | undefined> {
    const all = await get<Stats | unknown[]>(`${API}/stats` + path`/${this.name}`, this.query({ type: 'full' }), quiet)
    return Array.isArray(all) ? undefined : all
  }

  /** The end of the log, the newest line first. */
  async log (): Promise<LogLine[]> {
    const query = { name: this.name, ...this.query({ aggregate: 'true', size: '60000', format: 'json' }) }
    const { answer, sent } = await send(`${API}/getAppLog`, { query, ...quiet })
    if (!answer.ok) throw await failure(answer, sent)
    return (await answer.text()).split('\n').filter(line => line !== '').map(line => {
      try {
        return JSON.parse(line) as LogLine
      } catch {
        return { text: line }
      }
    })
  }

  deadLetters = (after: string | undefined) => get<DeadLetters>(`${this.path}/dead_letters`, this.query({ limit: 100, after }), quiet)
  deadLetter = (id: string) => get<DeadLetter>(`${this.path}/dead_letters` + path`/${id}`, this.query(), quiet)
  replay = (ids: string[] | undefined) => this.post<{ count: number }>('/dead_letters/replay', ids && { ids })
  dropLetter = (id: string) => remove(`${this.path}/dead_letters` + path`/${id}`, this.query())
  dropLetters = () => remove<{ count: number }>(`${this.path}/dead_letters`, this.query())

  debugSession = () => get<DebugSession>(`${this.path}/debugger`, this.query(), quiet)
  debugEffects = () => get<Effects>(`${this.path}/debugger/effects`, this.query(), quiet)
  startDebugger = (wanted: unknown) => this.post('/debugger/start', wanted)
  stopDebugger = (drop: boolean) => this.post('/debugger/stop', undefined, { drop })

  get debugSocket (): string {
    const query = new URLSearchParams({ bucket: this.scope.bucket, scope: this.scope.scope })
    return `${location.origin.replace(/^http/, 'ws')}${this.path}/debugger/socket?${query}`
  }
}

/** A message that could not be delivered. */
export interface DeadLetter {
  id: string
  destination: string
  published: string
  failed: string
  attempts: number
  /** The status of the last answer; 0 if there was none. */
  status: number
  error: string
  bytes: number
  headers?: Record<string, string>
  value?: unknown
}

export interface DeadLetters {
  /** Messages that wait to be delivered. */
  outbox: number
  dead_letters: number
  outbox_bytes: number
  letters: DeadLetter[]
  /** Where the next part of the list begins. */
  next?: string
}

export interface DebugSession {
  debugging: boolean
  caught?: boolean
  event?: string
  ends?: string
}

interface Write {
  database: string
  id: string
  doc?: unknown
  deleted?: boolean
  refused?: string
}

interface Timer {
  callback: string
  reference: string
  due?: string
  cancelled?: boolean
  context?: unknown
}

/** What an event that is held back has done so far. */
export interface Effects {
  writes: Write[]
  timers: Timer[]
  reads: { database: string, id: string, found: boolean }[]
  requests: { method: string, binding: string, path: string }[]
  statements: string[]
  log: string[]
  left_off: number
}

export interface Plan {
  keyspace: string
  way: 'ids' | 'index' | 'scan' | 'unindexed'
  index?: string
  times: number
  documents: number
}

/** What a test run says. */
export interface Trial {
  outcome: string
  error?: { name: string, message: string, line: number }
  took_us: number
  log: string[]
  writes: Write[]
  timers: Timer[]
  statements: { text: string, plan: Plan[] }[]
}
