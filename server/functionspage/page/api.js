// The server's API. What it answers is given back as it is; errors are thrown as ApiError.

const BASE = 'api/v1' // relative to /_eventing/, wherever a proxy has put that

export class ApiError extends Error {
  constructor (status, answer) {
    const { description, reason, info, error } = answer ?? {}
    super(typeof description === 'object' && description
      ? `line ${description.line_number}, column ${description.column_number}: ${description.description}`
      : description ?? reason ?? info ?? error ?? `the server answered ${status}`)
    this.status = status
    this.compile = description?.line_number ? description : null // where code does not compile
  }
}

let loggedOut = () => {}

// Has fn called when the server says that nobody is logged in.
export function onLoggedOut (fn) { loggedOut = fn }

async function request (path, { method = 'GET', body, type = 'application/json' } = {}) {
  const options = { method, headers: { Accept: 'application/json, text/plain' }, cache: 'no-store' }
  if (body !== undefined) Object.assign(options, { body, headers: { ...options.headers, 'Content-Type': type } })
  let response
  try {
    response = await fetch(path, options)
  } catch {
    throw new ApiError(0, { description: 'The server cannot be reached.' })
  }
  const text = await response.text()
  let answer = text
  if (/json/.test(response.headers.get('Content-Type') ?? '')) {
    try { answer = JSON.parse(text) } catch { /* a text, then */ }
  }
  if (response.status === 401 && path.startsWith(BASE)) loggedOut()
  if (!response.ok) throw new ApiError(response.status, typeof answer === 'object' ? answer : { description: text })
  return answer
}

const post = (path, value) =>
  request(path, { method: 'POST', body: value === undefined ? undefined : JSON.stringify(value) })

export const session = () => request('../_session')
export const logIn = (name, password) => post('../_session', { name, password })
export const logOut = () => request('../_session', { method: 'DELETE' })
export const databases = () => request('../_all_dbs')

export const allStatus = () => request(`${BASE}/status`)
export const importAll = text => request(`${BASE}/import`, { method: 'POST', body: text })
export const EXPORT = `${BASE}/export`

export const config = () => request(`${BASE}/config`)
export const changeConfig = changed => post(`${BASE}/config`, changed)

// One function: its name and scope as its status has them.
export class FunctionApi {
  constructor (name, { bucket, scope }) {
    Object.assign(this, { name, bucket, scope })
    this.query = new URLSearchParams({ bucket, scope }).toString()
  }

  path (part = '', more = '') {
    return `${BASE}/functions/${encodeURIComponent(this.name)}${part}?${this.query}${more}`
  }

  named (call, more = '') {
    return `${BASE}/${call}?${new URLSearchParams({ name: this.name })}&${this.query}&aggregate=true${more}`
  }

  get () { return request(this.path()) }
  create (definition) { return post(this.path(), definition) }
  remove () { return request(this.path(), { method: 'DELETE' }) }
  saveCode (text) { return request(this.path('/appcode'), { method: 'POST', body: text, type: 'text/plain' }) }
  saveSettings (changed) { return post(this.path('/settings'), changed) }
  saveBindings (bindings) { return post(this.path('/config'), bindings) }
  operate (operation) { return request(this.path(`/${operation}`, '&wait=60s'), { method: 'POST' }) }
  test (event) { return post(this.path('/test'), event) }
  // The statistics, nothing while it is undeployed.
  async stats () {
    const all = await request(`${BASE}/stats/${encodeURIComponent(this.name)}?${this.query}&type=full`)
    return Array.isArray(all) ? null : all
  }

  debugSession () { return request(this.path('/debugger')) }
  debugEffects () { return request(this.path('/debugger/effects')) }
  startDebugger (wanted) { return post(this.path('/debugger/start'), wanted) }
  stopDebugger (drop) { return request(this.path('/debugger/stop', `&drop=${drop}`), { method: 'POST' }) }
  get debugSocket () {
    const here = location.origin.replace(/^http/, 'ws') + location.pathname.replace(/[^/]*$/, '')
    return here + this.path('/debugger/socket')
  }

  insight () { return request(this.named('getInsight')) }
  async log () { return parseLog(await request(this.named('getAppLog', '&size=60000&format=json'))) }
}

// Each line is a JSON object; one that is not is shown as it is.
function parseLog (text) {
  return String(typeof text === 'object' ? JSON.stringify(text) : text).split('\n').filter(Boolean).map(line => {
    try { return JSON.parse(line) } catch { return { text: line } }
  })
}
