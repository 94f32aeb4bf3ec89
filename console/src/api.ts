// The server's API as the signed-in user: requests, their errors, what they are as curl, and live feeds. There is
// nothing here that the API does not give to that user with any other client.

/** An answer that is not 2xx: CouchDB's error and reason, and the request that had it. */
export class ApiError extends Error {
  constructor (
    readonly status: number, readonly error: string, readonly reason: string, readonly request: Sent,
    readonly body: unknown
  ) {
    super(reason || error)
  }
}

/** The server could not be reached. */
export class AwayError extends Error {
  constructor (readonly request: Sent) {
    super('The server does not answer.')
  }
}

/** A request as it was sent. */
export interface Sent {
  method: string
  path: string
  body?: string | undefined
  type?: string | undefined
}

export interface Options {
  method?: string
  query?: Record<string, unknown>
  /** A value that is sent as JSON; a string of JSON is sent as it is with `text`. */
  body?: unknown
  text?: string
  blob?: Blob
  type?: string
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** Requests that only look are not listed in "as curl" where quiet is true: polling, say. */
  quiet?: boolean
}

export interface Answer<T> {
  value: T
  status: number
  headers: Headers
}

const TOKEN = 'settee-token'
let token = sessionStorage.getItem(TOKEN) ?? undefined

/** setToken signs all requests of this tab with a bearer token; undefined goes back to the cookie. */
export function setToken (value: string | undefined): void {
  token = value
  if (value) sessionStorage.setItem(TOKEN, value)
  else sessionStorage.removeItem(TOKEN)
}

export const hasToken = (): boolean => token !== undefined

/** path makes a path of a server from a template, each value encoded: path`/${db}/${id}`. */
export function path (strings: TemplateStringsArray, ...values: string[]): string {
  return strings.reduce((made, part, i) => made + encodeURIComponent(values[i - 1]!) + part)
}

/** docPath is the path of a document: the slash of _design/ and _local/ is kept. */
export function docPath (db: string, id: string): string {
  const special = /^(_design|_local)\/(.*)$/s.exec(id)
  return special ? path`/${db}/` + `${special[1]}/` + encodeURIComponent(special[2]!) : path`/${db}/${id}`
}

// Options whose values are JSON, strings too.
const KEYS = new Set(['key', 'keys', 'startkey', 'endkey', 'start_key', 'end_key', 'open_revs', 'atts_since', 'counts', 'ranges', 'sort'])

// Members of a query that are undefined are left out. A string is sent as it is unless the option is one of KEYS.
function queryOf (query: Record<string, unknown> | undefined): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined) params.set(key, typeof value === 'string' && !KEYS.has(key) ? value : JSON.stringify(value))
  }
  const made = params.toString()
  return made && `?${made}`
}

const RECENT = 30
let recent: Sent[] = []
const recentListeners = new Set<() => void>()

/** sentRecently are the last requests that people caused, the newest first. */
export const sentRecently = (): readonly Sent[] => recent

export function onSent (listener: () => void): () => void {
  recentListeners.add(listener)
  return () => { recentListeners.delete(listener) }
}

type Reach = 'here' | 'away'
const reachListeners = new Set<(reach: Reach) => void>()
let reach: Reach = 'here'

/** onReach is told when the server goes away and when it is back. */
export function onReach (listener: (reach: Reach) => void): () => void {
  reachListeners.add(listener)
  return () => { reachListeners.delete(listener) }
}

function setReach (next: Reach): void {
  if (next === reach) return
  reach = next
  for (const tell of reachListeners) tell(next)
  if (next === 'away') void waitForServer()
}

async function waitForServer (): Promise<void> {
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, 1000))
    try {
      const answer = await fetch('/_up')
      if (answer.status < 500) return setReach('here')
    } catch {}
  }
}

const signedOutListeners = new Set<() => void>()

/** onSignedOut is told when the server answers 401: the session has ended. */
export function onSignedOut (listener: () => void): () => void {
  signedOutListeners.add(listener)
  return () => { signedOutListeners.delete(listener) }
}

/** send makes a request and gives the answer as it comes, whatever its status. AwayError if there is none. */
export async function send (target: string, options: Options = {}): Promise<{ answer: Response, sent: Sent }> {
  const method = options.method ?? 'GET'
  const json = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const type = options.type ?? (json === undefined ? options.blob?.type : 'application/json')
  const sent: Sent = { method, path: target + queryOf(options.query), body: json, type }
  if (!options.quiet) {
    recent = [sent, ...recent].slice(0, RECENT)
    for (const tell of recentListeners) tell()
  }
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers }
  if (type) headers['content-type'] = type
  if (token) headers.authorization = `Bearer ${token}`
  let answer: Response
  try {
    answer = await fetch(sent.path, {
      method, headers, body: json ?? options.blob ?? null, signal: options.signal ?? null, cache: 'no-store'
    })
  } catch (error) {
    if (options.signal?.aborted) throw error
    setReach('away')
    throw new AwayError(sent)
  }
  setReach('here')
  return { answer, sent }
}

/** ask makes a request and reads JSON. ApiError for what is not 2xx. */
export async function ask<T> (target: string, options: Options = {}): Promise<Answer<T>> {
  const { answer, sent } = await send(target, options)
  if (!answer.ok) throw await failure(answer, sent)
  const text = await answer.text()
  return { value: (text === '' ? undefined : JSON.parse(text)) as T, status: answer.status, headers: answer.headers }
}

/**
 * upload sends a file and says how much of it is sent, from 0 to 1. It is the browser's older kind of request, since
 * fetch tells nothing of what it sends.
 */
export function upload<T> (
  target: string, blob: Blob, type: string, progress: (share: number) => void, signal: AbortSignal, method: 'PUT' | 'POST' = 'PUT'
): Promise<T> {
  return new Promise((resolve, reject) => {
    const sent: Sent = { method, path: target, type }
    const request = new XMLHttpRequest()
    request.open(sent.method, target)
    request.setRequestHeader('accept', 'application/json')
    request.setRequestHeader('content-type', type)
    if (token) request.setRequestHeader('authorization', `Bearer ${token}`)
    request.upload.onprogress = event => { if (event.lengthComputable) progress(event.loaded / event.total) }
    request.onload = () => {
      const { status, statusText, responseText } = request
      if (status >= 200 && status < 300) resolve(JSON.parse(responseText) as T)
      else void failure(new Response(responseText, { status, statusText }), sent).then(reject)
    }
    request.onerror = () => reject(new AwayError(sent))
    request.onabort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(blob)
  })
}

/** failure reads the error of an answer that is not 2xx. */
export async function failure (answer: Response, sent: Sent): Promise<ApiError> {
  const text = await answer.text().catch(() => '')
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    body = { error: `${answer.status} ${answer.statusText}`, reason: text.slice(0, 500) }
  }
  if (answer.status === 401) for (const tell of signedOutListeners) tell()
  const { error = 'error', reason = '' } = (body ?? {}) as { error?: string, reason?: string }
  return new ApiError(answer.status, String(error), typeof reason === 'string' ? reason : JSON.stringify(reason), sent, body)
}

export async function get<T> (target: string, query?: Record<string, unknown>, options: Options = {}): Promise<T> {
  return (await ask<T>(target, { ...options, ...(query && { query }) })).value
}

export async function post<T> (target: string, body?: unknown, options: Options = {}): Promise<T> {
  return (await ask<T>(target, { ...options, method: 'POST', body: body ?? {} })).value
}

export async function put<T> (target: string, body?: unknown, options: Options = {}): Promise<T> {
  return (await ask<T>(target, { ...options, method: 'PUT', ...(body !== undefined && { body }) })).value
}

export async function remove<T> (target: string, query?: Record<string, unknown>, options: Options = {}): Promise<T> {
  return (await ask<T>(target, { ...options, method: 'DELETE', ...(query && { query }) })).value
}

/** lines reads an answer line by line as it comes. */
export async function * lines (answer: Response): AsyncGenerator<string> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const parts = (rest + value).split('\n')
      rest = parts.pop()!
      yield * parts
    }
    if (rest) yield rest
  } finally {
    await reader.cancel().catch(() => {})
  }
}

export interface Change {
  seq: string
  id: string
  changes: { rev: string }[]
  deleted?: boolean
  doc?: Record<string, unknown>
}

/**
 * follow reads a database's changes as they come until the signal ends it, and goes on where it was when the server went
 * away and came back. Ends with ApiError if the server refuses.
 */
export async function follow (
  db: string, since: string, signal: AbortSignal, each: (changes: Change[]) => void, query: Record<string, unknown> = {}
): Promise<void> {
  while (!signal.aborted) {
    try {
      const feed = { ...query, feed: 'longpoll', since, timeout: 50_000, limit: 1000 }
      const page = await get<{ results: Change[], last_seq: string }>(path`/${db}/_changes`, feed, { signal, quiet: true })
      since = page.last_seq
      if (page.results.length > 0) each(page.results)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof AwayError)) throw error
      await new Promise(resolve => setTimeout(resolve, 1000))
    }
  }
}

/** curl is a request as a command line for a shell. The name stands for the password, which curl asks for. */
export function curl (sent: Sent, user?: string): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const words = ['curl']
  if (token) words.push('-H', '"Authorization: Bearer $TOKEN"')
  else if (user) words.push('-u', quoted(user))
  if (sent.method !== 'GET') words.push('-X', sent.method)
  if (sent.type) words.push('-H', quoted(`Content-Type: ${sent.type}`))
  if (sent.body !== undefined) words.push('--data-binary', quoted(sent.body))
  words.push(quoted(location.origin + sent.path))
  return words.join(' ')
}
