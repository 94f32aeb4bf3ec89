// The page as a whole: who is logged in, the list of functions, and the one that the address names.
import {
  ApiError, EXPORT, FunctionApi, allStatus, databases, importAll, logIn, logOut, onLoggedOut, session
} from './api.js'
import { field, h, replace } from './dom.js'
import { say } from './settings.js'
import { FunctionView, PANELS } from './view.js'

const EVERY = 2000 // milliseconds between two looks at the server

const TEMPLATE = `function OnUpdate(doc, meta) {
  log('changed', meta.id);
}

function OnDelete(meta, options) {
  log('deleted', meta.id, options.expired);
}
`

const root = document.getElementById('app')
const list = h('ul', {})
const main = h('div', { class: 'content' })
const notice = h('p', { class: 'error', role: 'alert' })
const known = h('datalist', { id: 'databases' })
let user = null
let view = null // of the function that is shown
let functions = []
let round = 0 // polls of earlier rounds end

const keyOf = ({ name, function_scope: { bucket, scope } }) => [bucket, scope, name].map(encodeURIComponent).join('/')
const linkTo = (key, panel) => `#/${key}/${panel}`

// What the address names: the key of a function and a panel.
function place () {
  const parts = location.hash.replace(/^#\//, '').split('/')
  const panel = parts.length > 3 && PANELS[parts[3]] ? parts[3] : 'code'
  return { key: parts.length >= 3 ? parts.slice(0, 3).join('/') : '', panel, fresh: location.hash === '#new' }
}

function showLogin (text = '') {
  round++
  user = view = null
  const name = h('input', { type: 'text', name: 'name', autocomplete: 'username', required: true })
  const password = h('input', { type: 'password', name: 'password', autocomplete: 'current-password', required: true })
  const message = h('p', { class: 'error', role: 'alert' }, text)
  async function submit (event) {
    event.preventDefault()
    try {
      await logIn(name.value, password.value)
      await start()
    } catch (error) {
      say(message, 'error', error.message)
    }
  }
  replace(root, h('form', { class: 'login', onsubmit: submit }, h('h1', {}, 'Event functions'),
    field('Name', name), field('Password', password), h('button', { class: 'primary' }, 'Log in'), message))
  name.focus()
}

// Shows the page to who is logged in, or the form to log in.
async function start () {
  const { userCtx } = await session()
  if (!userCtx?.name) return showLogin()
  user = userCtx
  const file = h('input', {
    type: 'file', accept: '.json,application/json', hidden: true, 'aria-label': 'File to import',
    onchange: () => importFile(file)
  })
  replace(root,
    h('header', {}, h('a', { href: '#', class: 'title' }, 'Event functions'),
      h('a', { href: '#new', class: 'button', id: 'new' }, 'New function'),
      h('button', { onclick: () => file.click() }, 'Import'), file,
      h('a', { href: EXPORT, download: 'functions.json', class: 'button' }, 'Export all'),
      h('span', { class: 'user' }, user.name),
      h('button', { id: 'logout', onclick: leave }, 'Log out')),
    known, notice, h('div', { class: 'columns' },
      h('nav', { class: 'functions', 'aria-label': 'Functions' }, list), main))
  readDatabases()
  await route()
  const mine = ++round
  while (mine === round) {
    if (!document.hidden) await poll()
    await new Promise(resolve => setTimeout(resolve, EVERY))
  }
}

// Logs out. The next user begins at the list.
async function leave () {
  await logOut()
  showLogin()
  history.replaceState(null, '', '#')
}

// The names that forms offer. Those who may not list databases, as only administrators surely may, type them.
async function readDatabases () {
  if (!user.roles.includes('_admin')) return
  try {
    replace(known, (await databases()).filter(name => !name.startsWith('_')).map(value => h('option', { value })))
  } catch { /* as said */ }
}

async function importFile (input) {
  const [file] = input.files
  if (!file) return
  try {
    const rows = await importAll(await file.text())
    const failed = rows.filter(row => row.code !== 0)
    const reasons = failed.map(({ info, name }) => typeof info === 'string' ? info : info?.description ?? name)
    say(notice, failed.length > 0 ? 'error' : '',
      [`${rows.length - failed.length} of ${rows.length} functions imported.`, ...reasons].join(' '))
  } catch (error) {
    say(notice, 'error', error.message)
  }
  input.value = ''
  await refresh()
}

// Reads the states of all functions and shows them.
async function refresh () {
  functions = (await allStatus()).apps ?? []
  const { key } = place()
  replace(list, functions.map(f => h('li', {},
    h('a', {
      href: linkTo(keyOf(f), place().panel), 'aria-current': keyOf(f) === key ? 'page' : undefined,
      onclick: () => { if (!view && place().key === keyOf(f)) route() } // it could not be shown, try again
    },
      h('span', { class: 'name' }, f.name),
      f.function_scope.bucket !== '*' && h('small', {}, f.function_scope.bucket),
      h('span', { class: `state ${f.composite_status}` }, f.composite_status)))))
  if (functions.length === 0) replace(list, h('li', { class: 'none' }, 'There are no functions.'))
  const mine = view && functions.find(f => keyOf(f) === view.key)
  if (mine) view.status(mine)
}

async function poll () {
  const polled = view
  try {
    await refresh()
    if (polled && polled === view && functions.some(f => keyOf(f) === view.key)) await polled.poll()
    if (notice.dataset.poll) { delete notice.dataset.poll; replace(notice) }
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error)
    if (!user || polled !== view) return // logged out, or it is another function that is shown now
    notice.dataset.poll = 'failed' // it goes when the next one succeeds
    say(notice, 'error', error.message)
  }
}

// Shows what the address names.
async function route () {
  if (!user) return
  const { key, panel, fresh } = place()
  if (view?.key === key && key) return view.show(panel)
  if (view?.unsaved && !confirm('The code is changed and not saved. Leave it?')) {
    return history.replaceState(null, '', linkTo(view.key, view.panel))
  }
  view = null
  if (fresh) return showNew()
  if (!key) return replace(main, h('main', {}, h('p', {}, 'Choose a function, or make a new one.')))
  const [bucket, scope, name] = key.split('/').map(decodeURIComponent)
  const shown = new FunctionView(new FunctionApi(name, { bucket, scope }), {
    refresh, link: to => linkTo(key, to), open: to => { location.hash = linkTo(key, to) },
    closed: () => { view = null; location.hash = '' }
  })
  shown.key = key
  view = shown
  try {
    await refresh()
    await shown.load()
  } catch (error) {
    if (view === shown) replace(main, h('main', {}, h('p', { class: 'error', role: 'alert' }, error.message)))
    if (view === shown) view = null
    return
  }
  if (view !== shown) return
  replace(main, shown.element)
  shown.show(place().panel, true)
  await poll()
}

function showNew () {
  const name = h('input', { type: 'text', name: 'name', autocomplete: 'off', required: true })
  const source = h('input', { type: 'text', name: 'source', autocomplete: 'off', required: true, list: 'databases' })
  const scope = h('input', { type: 'text', name: 'scope', autocomplete: 'off', list: 'databases' })
  const message = h('p', { class: 'error', role: 'alert' })
  async function submit (event) {
    event.preventDefault()
    const at = scope.value ? { bucket: scope.value, scope: '_default' } : { bucket: '*', scope: '*' }
    try {
      await new FunctionApi(name.value, at).create({
        appname: name.value, appcode: TEMPLATE, depcfg: { source_bucket: source.value }, settings: {}
      })
      location.hash = linkTo(keyOf({ name: name.value, function_scope: at }), 'code')
    } catch (error) {
      say(message, 'error', error.message)
    }
  }
  replace(main, h('main', {}, h('h1', {}, 'New function'), h('form', { id: 'create', onsubmit: submit },
    field('Name', name, 'Letters, digits, _ and -.'),
    field('Source', source, 'The database whose changes the function sees.'),
    field('Scope', scope, 'A database that the function belongs to; empty: the whole server.'),
    h('button', { class: 'primary' }, 'Create'), message)))
  readDatabases()
  name.focus()
}

addEventListener('hashchange', route)
addEventListener('beforeunload', event => { if (view?.unsaved) event.preventDefault() })
onLoggedOut(() => { if (user) showLogin('The session has ended.') })
start().catch(error => showLogin(error.message))
