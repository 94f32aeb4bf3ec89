// One function: its state and buttons, its graphs, and below them one of several panels.
import { bindingsForm } from './bindings.js'
import { Charts } from './charts.js'
import { Debug } from './debug.js'
import { h, replace } from './dom.js'
import { Editor } from './editor.js'
import { Log } from './log.js'
import { say, settingsForm } from './settings.js'
import { trialPanel } from './trial.js'

export const PANELS = {
  code: 'Code', bindings: 'Bindings', settings: 'Settings', test: 'Test', debug: 'Debug', log: 'Log'
}

const BUTTONS = {
  undeployed: [['deploy', 'Deploy'], ['delete', 'Delete']],
  paused: [['resume', 'Resume'], ['undeploy', 'Undeploy']],
  deployed: [['pause', 'Pause'], ['undeploy', 'Undeploy']]
}

export class FunctionView {
  // app: refresh() shows the list as it is, open(panel) goes to a panel, closed() is called when it was deleted.
  constructor (api, app) {
    Object.assign(this, { api, app, state: '', stored: null, panel: '', busy: false, unsaved: false })
    this.charts = new Charts()
    this.log = new Log()
    this.debug = new Debug(api, () => this.stored.appcode)
    this.badge = h('span', { class: 'state', id: 'state' })
    this.buttons = h('div', { class: 'buttons', role: 'group', 'aria-label': 'Operations' })
    this.message = h('p', { role: 'status', id: 'message' })
    this.tabs = h('nav', { class: 'tabs', 'aria-label': 'Parts of the function' })
    this.body = h('section', { class: 'panel' })
    this.element = h('main', {},
      h('div', { class: 'head' }, h('h1', {}, api.name), this.badge, this.buttons),
      this.message, this.charts.element, this.charts.totals, this.tabs, this.body)
  }

  // Reads the function again, and shows what may have changed.
  async load () {
    this.stored = await this.api.get()
    this.unsaved = false
    this.save = h('button', { class: 'primary', id: 'save', onclick: () => this.saveCode() }, 'Save code')
    this.editor = new Editor(this.stored.appcode, { readOnly: false, changed: () => this.codeChanged() })
    this.hint = h('span', { class: 'hint' })
    this.allow()
    if (this.panel) this.show(this.panel, true)
  }

  show (panel, again) {
    if (panel === this.panel && !again) return
    this.panel = panel
    replace(this.tabs, Object.entries(PANELS).map(([name, title]) =>
      h('a', { href: this.app.link(name), 'aria-current': name === panel ? 'page' : undefined }, title)))
    replace(this.body, this.panels()[panel]())
    if (panel === 'code') this.editor.draw()
  }

  panels () {
    return {
      code: () => [h('div', { class: 'buttons' }, this.save,
        h('a', { href: this.api.path(), download: `${this.api.name}.json`, class: 'button' }, 'Export this function'),
        this.hint), this.editor.element],
      bindings: () => bindingsForm(this.stored.depcfg, (bindings, message) =>
        this.store('Bindings', message, () => this.api.saveBindings(bindings))),
      settings: () => settingsForm(this.stored.settings, (changed, message) =>
        this.store('Settings', message, () => this.api.saveSettings(changed))),
      test: () => trialPanel(event => this.api.test(event), line => {
        this.app.open('code')
        this.show('code')
        this.editor.goTo(line)
      }),
      debug: () => { this.debug.open(); return this.debug.element },
      log: () => this.log.element
    }
  }

  // Saves a part of the function, and reads what became of it. The form stays as it is.
  async store (what, message, save) {
    try {
      const { warning_info: warnings } = await save()
      const { depcfg, settings } = await this.api.get()
      Object.assign(this.stored, { depcfg, settings })
      this.show(this.panel, true)
      say(this.message, '', [`${what} saved.`, ...(warnings ?? [])].join(' '))
    } catch (error) {
      say(message, 'error', error.message)
    }
  }

  codeChanged () {
    this.unsaved = this.editor.text !== this.stored.appcode
    this.allow()
  }

  async saveCode () {
    const text = this.editor.text
    this.save.disabled = true
    try {
      const { warning_info: warnings } = await this.api.saveCode(text)
      this.stored.appcode = text
      this.editor.showError(null)
      say(this.message, '', ['Code saved.', ...(warnings ?? [])].join(' '))
    } catch (error) {
      const at = error.compile
      this.editor.showError(at && { line: at.line_number, column: at.column_number, text: at.description })
      say(this.message, 'error', at ? `The code does not compile: line ${at.line_number}.` : error.message)
    }
    this.codeChanged()
  }

  // Shows what can be done in this state.
  allow () {
    const deployed = !['undeployed', 'paused'].includes(this.state)
    if (this.editor) {
      this.editor.readOnly = deployed
      this.save.disabled = deployed || !this.unsaved
      replace(this.hint, deployed
        ? 'Pause or undeploy the function to change its code.'
        : this.unsaved ? 'Changed and not saved.' : '')
    }
    replace(this.buttons, (BUTTONS[this.state] ?? []).map(([operation, title]) => h('button', {
      'data-operation': operation, disabled: this.busy, class: operation === 'deploy' ? 'primary' : '',
      onclick: () => operation === 'delete' ? this.remove() : this.operate(operation, title)
    }, title)))
  }

  async operate (operation, title) {
    const without = this.unsaved && operation !== 'undeploy'
    if (without && !confirm('The code is changed and not saved. Go on without?')) return
    await this.work(`${title} …`, async () => {
      const { info } = await this.api.operate(operation)
      return info
    })
  }

  async remove () {
    if (!confirm(`Delete the function ${this.api.name}?`)) return
    await this.work('Delete …', async () => {
      await this.api.remove()
      this.unsaved = false
      this.app.closed()
    })
  }

  // Shows that something is done, does it, and shows what came of it.
  async work (text, fn) {
    this.busy = true
    this.allow()
    say(this.message, '', text)
    try {
      say(this.message, '', await fn())
    } catch (error) {
      say(this.message, 'error', error.message)
    }
    this.busy = false
    this.allow()
    await this.app.refresh()
  }

  // Takes the function's row of the list of states.
  status ({ composite_status: state, redeploy_required: redeploy }) {
    this.badge.className = `state ${state}`
    replace(this.badge, state + (redeploy ? ', changed since' : ''))
    if (state === this.state) return
    this.state = state
    this.allow()
  }

  // Asks for what changes by itself, and shows it.
  async poll () {
    const running = this.state !== 'undeployed'
    this.charts.add(running ? await this.api.stats() : null)
    if (this.panel === 'code') this.editor.showInsight(running ? await this.insight() : null)
    if (this.panel === 'debug') await this.debug.poll()
    if (this.panel === 'log') this.log.show(await this.api.log())
  }

  // What the lines did; nothing where the function was undeployed just now.
  async insight () {
    try {
      return await this.api.insight()
    } catch (error) {
      if (error.status === 406) return null
      throw error
    }
  }
}
