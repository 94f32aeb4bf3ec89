// A test: a handler runs on a document, and what it would write is shown.
import { field, h, replace, select } from './dom.js'

const KINDS = {
  id: 'A document of the source', doc: 'A document as given here', delete: 'A deletion', timer: 'A timer'
}

// run makes the test; goTo shows a line of the code.
export function trialPanel (run, goTo) {
  const kind = select(Object.keys(KINDS), 'id', { name: 'kind', onchange: draw })
  for (const option of kind.options) option.textContent = KINDS[option.value]
  const id = h('input', { type: 'text', name: 'id', autocomplete: 'off' })
  const doc = h('textarea', { name: 'doc', rows: '8', spellcheck: 'false', value: '{\n  \n}' })
  const timer = h('input', { type: 'text', name: 'timer', autocomplete: 'off' })
  const context = h('textarea', { name: 'context', rows: '4', spellcheck: 'false', value: '{}' })
  const fields = {
    id: field('Id of the document', id), doc: field('Document (JSON)', doc),
    timer: field('Callback', timer, 'The name of a function in the code.'), context: field('Context (JSON)', context)
  }
  const result = h('div', { id: 'trial-result', 'aria-live': 'polite' })

  function draw () {
    const shown = { id: ['id'], doc: ['id', 'doc'], delete: ['id'], timer: ['timer', 'context'] }[kind.value]
    for (const [name, element] of Object.entries(fields)) element.hidden = !shown.includes(name)
  }

  // The event as the API takes it.
  function event () {
    switch (kind.value) {
      case 'id': return { id: id.value }
      case 'doc': return { id: id.value || 'test', doc: json('document', doc.value) }
      case 'delete': return { id: id.value || 'test', delete: true }
      default: return { timer: timer.value, context: json('context', context.value) }
    }
  }

  async function submit (submitted) {
    submitted.preventDefault()
    replace(result, h('p', {}, 'Running …'))
    try {
      replace(result, outcome(await run(event()), goTo))
    } catch (error) {
      replace(result, h('p', { class: 'error', role: 'alert' }, error.message))
    }
  }

  draw()
  return h('div', { class: 'trial' },
    h('form', { id: 'trial', onsubmit: submit },
      h('p', {}, 'Runs the code as it is stored, deployed or not. Writes and timers are shown and not applied; ' +
        'requests to other servers are made.'),
      field('Event', kind), Object.values(fields), h('button', { class: 'primary' }, 'Run')),
    result)
}

function json (what, text) {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The ${what} is no JSON: ${error.message}`)
  }
}

const pretty = value => h('pre', {}, JSON.stringify(value, null, 2))

const times = w => `${w.times === 1 ? 'once' : `${w.times} times`}, ${w.documents} documents`

// The ways to documents that a statement may take.
const ways = {
  ids: { text: w => `by ids, ${times(w)}` },
  index: { text: w => `by the index ${w.index}, ${times(w)}` },
  scan: { scans: true, text: w => `a scan of all documents, ${times(w)}` },
  unindexed: { scans: true, text: () => 'the join finds no index for its condition and scans' }
}

// What the answer says.
function outcome (answer, goTo) {
  const { outcome, error, log, writes, timers, statements } = answer
  return [
    h('h3', {}, 'Outcome: ', h('span', { class: `outcome ${outcome}` }, outcome),
      ` after ${(answer.took_us / 1000).toFixed(2)} ms`),
    error && h('p', { class: 'error' }, `${error.name}: ${error.message} `,
      error.line > 0 && h('button', { type: 'button', onclick: () => goTo(error.line) }, `Line ${error.line}`)),
    h('h3', {}, 'Writes'),
    writes.length === 0
      ? h('p', {}, 'None.')
      : table(['Database', 'Id', 'Document'], writes.map(w => [w.database, w.id, [
        w.deleted ? 'deleted' : pretty(w.doc), w.refused && h('p', { class: 'error' }, `refused: ${w.refused}`)]])),
    h('h3', {}, 'Timers'),
    timers.length === 0
      ? h('p', {}, 'None.')
      : table(['Callback', 'Reference', 'Due', 'Context'], timers.map(t => [
        t.callback, t.reference, t.cancelled ? 'cancelled' : t.due,
        t.context === undefined ? '' : pretty(t.context)])),
    h('h3', {}, 'Statements'),
    statements.length === 0
      ? h('p', {}, 'None.')
      : table(['Statement', 'How it has read'], statements.map(s => [
        h('pre', {}, s.text), h('ul', {}, s.plan.map(w => h('li', { class: ways[w.way].scans ? 'error' : '' },
          `${w.keyspace}: ${ways[w.way].text(w)}`)))])),
    h('h3', {}, 'Log'),
    log.length === 0 ? h('p', {}, 'Nothing.') : h('pre', {}, log.join('\n'))
  ]
}

function table (heads, rows) {
  return h('table', {},
    h('thead', {}, h('tr', {}, heads.map(head => h('th', { scope: 'col' }, head)))),
    h('tbody', {}, rows.map(row => h('tr', {}, row.map(cell => h('td', {}, cell))))))
}
