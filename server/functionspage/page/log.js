// The end of a function's log, the newest line first.
import { h, replace } from './dom.js'

const SHOWN = 300

export class Log {
  constructor () {
    this.list = h('tbody', { id: 'log' })
    this.filter = h('input', {
      type: 'search', 'aria-label': 'Show lines with', placeholder: 'Show lines with …', oninput: () => this.draw()
    })
    this.lines = []
    this.element = h('div', {}, this.filter,
      h('table', { class: 'log' },
        h('thead', {}, h('tr', {}, ['Time', 'Level', 'Event', 'Text'].map(head => h('th', { scope: 'col' }, head)))),
        this.list))
    this.draw()
  }

  show (lines) {
    this.lines = lines
    this.draw()
  }

  draw () {
    const wanted = this.filter.value.toLowerCase()
    const lines = this.lines.filter(line => JSON.stringify(line).toLowerCase().includes(wanted)).slice(0, SHOWN)
    if (lines.length === 0) return replace(this.list, h('tr', {}, h('td', { colspan: '4' }, 'No lines.')))
    replace(this.list, lines.map(line => h('tr', { class: line.level === 'ERROR' ? 'failing' : '' },
      h('td', {}, (line.time ?? '').replace('T', ' ').replace('Z', '')),
      h('td', {}, line.level ?? ''),
      h('td', {}, line.id ?? (line.callback ? `${line.callback} ${line.reference}` : '')),
      h('td', {}, line.dropped ? `${line.dropped} lines came too fast and are not here` : text(line)))))
  }
}

const text = line => `${line.at ? `${line.at} ` : ''}${line.text ?? ''}`
