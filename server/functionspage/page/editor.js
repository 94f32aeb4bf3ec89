// The code of a function: a text area with numbers of lines, what each line did, and where it does not compile.
import { h, number, replace } from './dom.js'

export class Editor {
  // changed is called when something was typed.
  constructor (text, { readOnly, changed }) {
    this.insight = null
    this.error = null
    this.area = h('textarea', {
      id: 'code', wrap: 'off', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', 'aria-label': 'Code',
      value: text, readonly: readOnly, oninput: () => { this.error = null; this.draw(); changed() },
      onscroll: () => this.scroll()
    })
    this.gutter = h('div', { class: 'gutter', id: 'lines', 'aria-label': 'Lines: calls, time, errors' })
    this.mark = h('div', { class: 'mark', hidden: true })
    this.message = h('p', { class: 'error', role: 'alert', id: 'code-error' })
    this.element = h('div', {},
      h('div', { class: 'legend', 'aria-hidden': 'true' }, h('span', {}, 'calls'), h('span', {}, 'ms'),
        h('span', {}, 'errors'), h('span', {}, 'line')),
      h('div', { class: 'editor' }, this.gutter, h('div', { class: 'text' }, this.mark, this.area)),
      this.message)
    this.draw()
  }

  get text () { return this.area.value }

  set readOnly (value) { this.area.readOnly = value }

  // Shows the place of an error: {line, column, text}, null for none.
  showError (error) {
    this.error = error
    replace(this.message, error && `Line ${error.line}, column ${error.column}: ${error.text}`)
    this.area.setAttribute('aria-invalid', String(error !== null))
    this.draw()
    if (error) this.goTo(error.line)
  }

  // Shows what the lines did, if it was this code that did it.
  showInsight (insight) {
    this.insight = insight
    this.draw()
  }

  goTo (line) {
    const start = this.text.split('\n').slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
    this.area.focus()
    this.area.setSelectionRange(start, start)
    this.area.scrollTop = Math.max(0, (line - 6) * this.lineHeight)
    this.scroll()
  }

  get lineHeight () { return parseFloat(getComputedStyle(this.area).lineHeight) || 18 }

  draw () {
    const lines = (this.insight?.script === this.text && this.insight.lines) || {}
    const count = this.text.split('\n').length
    replace(this.gutter, Array.from({ length: count }, (_, i) => this.row(i + 1, lines[i + 1])),
      h('div', { class: 'row' })) // the area is longer than the gutter where it has a scroll bar
    this.scroll()
  }

  row (line, did) {
    const wrong = this.error?.line === line
    const about = did && [did.last_log && `logged: ${did.last_log}`, did.error_msg && `error: ${did.error_msg}`]
    return h('div', {
      class: `row${wrong ? ' wrong' : ''}${did?.error_count ? ' failing' : ''}`, 'data-line': line,
      title: about ? about.filter(Boolean).join('\n') : undefined
    },
    h('span', { class: 'calls' }, did ? number(did.call_count) : ''),
    h('span', { class: 'time' }, did ? number(did.call_time * 1000) : ''),
    h('span', { class: 'errors' }, did?.error_count ? number(did.error_count) : ''),
    h('span', { class: 'line' }, wrong ? '✖ ' : '', String(line)))
  }

  // Keeps gutter and mark beside the text. Policies forbid styles in markup, not those that scripts set.
  scroll () {
    this.gutter.scrollTop = this.area.scrollTop
    this.mark.hidden = this.error === null
    if (this.error === null) return
    const padding = parseFloat(getComputedStyle(this.area).paddingTop) || 0
    this.mark.style.top = `${padding + (this.error.line - 1) * this.lineHeight - this.area.scrollTop}px`
  }
}
