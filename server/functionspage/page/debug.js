// The debugger: catches an event, and looks into its handler with the Chrome DevTools protocol.
import { changeConfig, config } from './api.js'
import { field, h, replace, select } from './dom.js'
import { say } from './settings.js'

const EVENTS = { any: '', update: 'update', deletion: 'delete', expiry: 'expiry', timer: 'timer' }

const STEPS = {
  'Debugger.resume': 'Continue', 'Debugger.stepOver': 'Step over', 'Debugger.stepInto': 'Step into',
  'Debugger.stepOut': 'Step out'
}

// A conversation in the protocol: send gives a promise of the result, on(method, params) is told of events.
class Client {
  constructor (url, on, closed) {
    this.waiting = new Map()
    this.last = 0
    this.socket = new WebSocket(url)
    this.open = new Promise(resolve => this.socket.addEventListener('open', resolve))
    this.socket.addEventListener('close', event => closed(event.reason))
    this.socket.addEventListener('message', ({ data }) => {
      const { id, method, params, result, error } = JSON.parse(data)
      if (method) return on(method, params)
      const { resolve, reject } = this.waiting.get(id) ?? {}
      this.waiting.delete(id)
      error ? reject?.(new Error(error.message)) : resolve?.(result)
    })
  }

  async send (method, params = {}) {
    await this.open
    const id = ++this.last
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.socket.send(JSON.stringify({ id, method, params }))
    })
  }
}

export class Debug {
  // code gives the text of the function that is deployed.
  constructor (api, code) {
    Object.assign(this, { api, code, client: null, caught: false, breakpoints: new Map(), watches: [], frames: [], frame: 0 })
    this.element = h('div', { id: 'debug' })
  }

  // Looks what there is, and shows it.
  async open () {
    try {
      const { enable_debugger: enabled } = await config()
      if (!enabled) return this.offer()
      this.build()
      await this.poll()
    } catch (error) {
      replace(this.element, h('p', { class: 'error', role: 'alert' }, error.message))
    }
  }

  offer () {
    replace(this.element, h('p', {}, 'The debugger is switched off.'),
      h('button', { onclick: async () => { await changeConfig({ enable_debugger: true }); await this.open() } },
        'Switch it on'))
  }

  build () {
    this.message = h('p', { role: 'status', id: 'debug-message' })
    this.kind = select(Object.keys(EVENTS), 'any', { name: 'event' })
    this.of = h('input', { name: 'of' })
    this.selector = h('input', { name: 'debug-selector', placeholder: '{"total": {"$gt": 100}}' })
    this.form = h('form', { onsubmit: event => { event.preventDefault(); this.start() } },
      h('div', { class: 'fields' }, field('Event', this.kind), field('Document or timer', this.of, 'Empty: any'),
        field('Selector', this.selector, 'What the document or timer matches')),
      h('button', { class: 'primary', id: 'debug-start' }, 'Catch an event'))
    this.steps = h('div', { class: 'buttons', role: 'group', 'aria-label': 'Steps' })
    this.lines = h('ol', { class: 'code', 'aria-label': 'Code' })
    this.stack = h('div', { id: 'debug-frames' })
    this.variables = h('div', { id: 'debug-variables' })
    this.watched = h('ul', { id: 'debug-watches' })
    this.effects = h('div', { id: 'debug-effects' })
    const watch = h('input', { 'aria-label': 'Watch an expression', placeholder: 'Watch an expression', name: 'watch' })
    this.watching = h('form', {
      onsubmit: event => {
        event.preventDefault()
        if (watch.value) this.watches.push(watch.value)
        watch.value = ''
        this.showWatches()
      }
    }, watch)
    this.body = h('div', { class: 'debugging', hidden: true }, this.lines, h('div', {},
      h('h3', {}, 'Calls'), this.stack, h('h3', {}, 'Variables'), this.variables,
      h('h3', {}, 'Watches'), this.watched, this.watching, h('h3', {}, 'Effects so far'), this.effects))
    replace(this.element, this.form, this.message, this.steps, this.body)
  }

  async start () {
    try {
      const wanted = { event: EVENTS[this.kind.value], id: this.of.value }
      if (this.selector.value.trim()) wanted.selector = JSON.parse(this.selector.value)
      await this.api.startDebugger(wanted)
      await this.poll()
    } catch (error) {
      say(this.message, 'error', error.message)
    }
  }

  // Asks whether there is a session, and joins it once it has an event.
  async poll () {
    if (!this.form || this.client) return
    const session = await this.api.debugSession()
    this.form.hidden = session.debugging
    this.ends(session.debugging)
    if (!session.debugging) return
    if (session.caught) return this.join(session.event)
    say(this.message, '', `Waits for an event until ${new Date(session.ends).toLocaleTimeString()}.`)
  }

  // Shows the buttons that there are in a session.
  ends (debugging) {
    replace(this.steps, this.client && Object.entries(STEPS).map(([method, title]) =>
      h('button', { onclick: () => this.client.send(method).catch(() => {}), disabled: !this.frames.length }, title)),
    debugging && h('button', { onclick: () => this.stop(false) }, this.client ? 'Let go' : 'Stop waiting'),
    this.client && h('button', { onclick: () => this.stop(true) }, 'Throw away'))
  }

  async stop (drop) {
    try {
      await this.api.stopDebugger(drop)
    } catch (error) {
      say(this.message, 'error', error.message)
    }
    await this.poll()
  }

  async join (event) {
    this.client = new Client(this.api.debugSocket, (method, params) => this.on(method, params), why => this.over(why))
    say(this.message, '', `The event of ${event} is held back; its handler has no effects.`)
    this.body.hidden = false
    this.drawLines(this.code())
    await this.client.send('Runtime.enable')
    await this.client.send('Debugger.enable')
    for (const line of this.breakpoints.keys()) await this.setBreakpoint(line)
    await this.client.send('Runtime.runIfWaitingForDebugger')
  }

  over (why) {
    this.client = null
    this.frames = []
    this.body.hidden = true
    this.form.hidden = false
    this.ends(false)
    say(this.message, '', `The session is over: ${why || 'the connection has ended'}.`)
  }

  async on (method, params) {
    if (method === 'Debugger.scriptParsed') {
      const { scriptSource } = await this.client.send('Debugger.getScriptSource', { scriptId: params.scriptId })
      this.drawLines(scriptSource)
    } else if (method === 'Debugger.resumed') {
      this.frames = []
      this.showFrame(0)
    } else if (method === 'Debugger.paused') {
      this.frames = params.callFrames
      if (params.data) say(this.message, 'error', params.data.description ?? String(params.data.value))
      this.showFrame(0)
      this.showEffects(await this.api.debugEffects())
    }
  }

  drawLines (text) {
    replace(this.lines, text.split('\n').map((line, i) => h('li', { 'data-line': i + 1 },
      h('button', {
        'aria-label': `Breakpoint at line ${i + 1}`, 'aria-pressed': String(this.breakpoints.has(i)),
        onclick: event => this.toggle(i, event.target)
      }, String(i + 1)), h('code', {}, line || ' '))))
    this.showFrame(this.frame)
  }

  async toggle (line, button) {
    if (this.breakpoints.has(line)) {
      const breakpointId = this.breakpoints.get(line)
      this.breakpoints.delete(line)
      if (breakpointId) await this.client?.send('Debugger.removeBreakpoint', { breakpointId })
    } else {
      this.breakpoints.set(line, '')
      await this.setBreakpoint(line)
    }
    button.setAttribute('aria-pressed', String(this.breakpoints.has(line)))
  }

  async setBreakpoint (line) {
    const set = await this.client?.send('Debugger.setBreakpointByUrl', { url: 'handler.js', lineNumber: line })
      .catch(() => null)
    if (set) this.breakpoints.set(line, set.breakpointId)
  }

  async showFrame (n) {
    this.frame = n
    const at = this.frames[n]
    for (const line of this.lines.children) {
      line.classList.toggle('at', at?.location.lineNumber === Number(line.dataset.line) - 1)
    }
    this.ends(true)
    replace(this.stack, this.frames.map((frame, i) => h('button', {
      'aria-pressed': String(i === n), onclick: () => this.showFrame(i)
    }, `${frame.functionName || '(anonymous)'}, line ${frame.location.lineNumber + 1}`)))
    replace(this.variables, at?.scopeChain.filter(scope => scope.type !== 'global').map(scope =>
      h('div', { class: 'scope' }, h('small', {}, scope.type), this.members(scope.object.objectId))))
    await this.showWatches()
  }

  // The members of an object, filled in when they have come.
  members (objectId) {
    const list = h('ul', {})
    this.client.send('Runtime.getProperties', { objectId, ownProperties: true }).then(({ result }) =>
      replace(list, result.filter(one => one.name !== '__proto__').map(one => h('li', {}, this.member(one)))), () => {})
    return list
  }

  member ({ name, value }) {
    if (!value?.objectId || value.type === 'function') return `${name}: ${describe(value)}`
    return h('details', {
      ontoggle: event => {
        if (event.target.open && event.target.children.length === 1) event.target.append(this.members(value.objectId))
      }
    }, h('summary', {}, `${name}: ${describe(value)}`))
  }

  async showWatches () {
    const callFrameId = this.frames[this.frame]?.callFrameId
    const shown = await Promise.all(this.watches.map(async expression => {
      if (callFrameId === undefined) return ''
      const { result, exceptionDetails } = await this.client.send('Debugger.evaluateOnCallFrame', {
        callFrameId, expression, throwOnSideEffect: false
      }).catch(error => ({ result: { description: error.message } }))
      return exceptionDetails ? describe(exceptionDetails.exception).split('\n')[0] : describe(result)
    }))
    replace(this.watched, this.watches.map((expression, i) => h('li', {}, `${expression}: ${shown[i]} `,
      h('button', {
        'aria-label': `Watch ${expression} no more`,
        onclick: () => { this.watches.splice(i, 1); this.showWatches() }
      }, '×'))))
  }

  showEffects (e) {
    const list = (title, entries) => entries.length > 0 && [h('small', {}, title),
      h('ul', {}, entries.map(text => h('li', {}, text)))]
    replace(this.effects,
      list('written', e.writes.map(w => `${w.database}/${w.id}: ${w.deleted ? 'deleted' : JSON.stringify(w.doc)}`)),
      list('timers', e.timers.map(t => t.cancelled
        ? `${t.callback} ${t.reference}: cancelled`
        : `${t.callback} ${t.reference} at ${t.due}`)),
      list('read', e.reads.map(r => `${r.database}/${r.id}${r.found ? '' : ': missing'}`)),
      list('requests, not made', e.requests.map(r => `${r.method} ${r.binding}${r.path}`)),
      list('statements', e.statements), list('log', e.log),
      e.left_off > 0 && h('p', {}, `and ${e.left_off} more`))
    if (!this.effects.hasChildNodes()) replace(this.effects, 'None.')
  }
}

// A value of the protocol as a text.
const describe = value => value === undefined
  ? ''
  : value.type === 'string' ? JSON.stringify(value.value) : value.description ?? String(value.value ?? value.type)
