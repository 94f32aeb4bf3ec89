// The settings of a function as a form, made from their JSON: its types say what the controls are.
import { field, h, replace, select } from './dom.js'

const CHOICES = {
  dcp_stream_boundary: ['everything', 'from_now'],
  log_level: ['INFO', 'ERROR', 'WARNING', 'DEBUG', 'TRACE'],
  language_compatibility: ['7.2.0', '6.6.2', '6.5.0', '6.0.0'],
  n1ql_consistency: ['none', 'request'],
  isolate: ['worker', 'invocation']
}

// Those that most functions set, with what they mean; the others are below them.
const USUAL = {
  description: 'For people.',
  dcp_stream_boundary: 'Where a deployed function begins: with all documents, with what changes from then on, or since a time.',
  worker_count: 'Workers on each node.',
  execution_timeout: 'Seconds that one call may take.',
  max_retries: 'How often an event whose handler failed is tried again.',
  dead_letter_database: 'Gets a document for each event that failed in the end.',
  selector: 'A Mango selector; other documents do not reach the handler. null for all.',
  schedules: 'Functions that are called by the clock: [{"every": "15m", "call": "Tick"}], [{"at": "03:00", …}] in UTC.',
  log_level: 'What the log of the server has of the function.'
}

const STATE = ['deployment_status', 'processing_status'] // the buttons' business

// A control for a value, and what reads it again.
function control (name, value) {
  if (CHOICES[name]) return reading(select([...new Set([...CHOICES[name], value])], value), element => element.value)
  if (typeof value === 'boolean') {
    return reading(h('input', { type: 'checkbox', checked: value }), element => element.checked)
  }
  if (typeof value === 'number') {
    return reading(h('input', { type: 'number', step: '1', value: String(value) }), element => Number(element.value))
  }
  if (typeof value === 'string') {
    return reading(h('input', { type: 'text', value, autocomplete: 'off' }), element => element.value)
  }
  if (name !== 'schedules' && Array.isArray(value) && value.every(line => typeof line === 'string')) {
    return reading(h('textarea', { rows: '3', value: value.join('\n') }),
      element => element.value === '' ? [] : element.value.split('\n'))
  }
  return reading(h('textarea', { rows: '3', value: JSON.stringify(value) }),
    element => JSON.parse(element.value || 'null'))
}

const reading = (element, read) => ({ element, read })

// save gets the settings that were changed.
export function settingsForm (settings, save) {
  const all = { selector: null, ...settings } // which is left out where there is none
  const fields = Object.entries(all).filter(([name]) => !STATE.includes(name))
    .map(([name, value]) => ({ name, value, ...control(name, value) }))
  for (const { name, element } of fields) element.setAttribute('name', name)
  const message = h('p', { role: 'status' })
  const usual = Object.keys(USUAL).map(name => fields.find(f => f.name === name)).filter(Boolean)
  const show = f => field(f.name, f.element, USUAL[f.name])

  async function submit (event) {
    event.preventDefault()
    const changed = {}
    for (const { name, value, element, read } of fields) {
      let now
      try {
        now = read(element)
      } catch (error) {
        element.focus()
        return say(message, 'error', `${name}: ${error.message}`)
      }
      if (JSON.stringify(now) !== JSON.stringify(value)) changed[name] = now
    }
    if (Object.keys(changed).length === 0) return say(message, '', 'Nothing was changed.')
    await save(changed, message)
  }

  return h('form', { id: 'settings', onsubmit: submit },
    h('div', { class: 'fields' }, usual.map(show)),
    h('details', {}, h('summary', {}, 'More settings'),
      h('div', { class: 'fields' }, fields.filter(f => !usual.includes(f)).map(show))),
    h('button', { class: 'primary' }, 'Save settings'), message)
}

// Shows a message of a kind, error or '', in an element.
export function say (element, kind, text) {
  element.className = kind
  replace(element, text)
}
