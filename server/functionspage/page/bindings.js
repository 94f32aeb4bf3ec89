// What a function may use, as a form: its source, and rows of databases, URLs and constants.
import { field, h, replace, select } from './dom.js'

const KINDS = [
  {
    member: 'buckets',
    title: 'Databases',
    one: 'database',
    fresh: { alias: '', bucket_name: '', access: 'rw' },
    fields: [
      ['alias', 'Name in the code'], ['bucket_name', 'Database', { list: 'databases' }],
      ['access', 'Access', ['r', 'rw']]
    ]
  },
  {
    member: 'curl',
    title: 'URLs',
    one: 'URL',
    fresh: {
      value: '', hostname: 'https://', auth_type: 'no-auth', username: '', password: '', bearer_key: '',
      allow_cookies: false, validate_ssl_certificate: true
    },
    fields: [
      ['value', 'Name in the code'], ['hostname', 'URL'],
      ['auth_type', 'Login', ['no-auth', 'basic', 'digest', 'bearer']],
      ['username', 'User'], ['password', 'Password', { type: 'password', autocomplete: 'new-password' }],
      ['bearer_key', 'Bearer key', { type: 'password', autocomplete: 'new-password' }],
      ['allow_cookies', 'Cookies', true], ['validate_ssl_certificate', 'Check certificate', true]
    ]
  },
  {
    member: 'constants',
    title: 'Constants',
    one: 'constant',
    fresh: { value: '', literal: '' },
    fields: [['value', 'Name in the code'], ['literal', 'JavaScript literal']]
  }
]

// A row of controls that change the binding as they are used.
function bindingRow (kind, binding, remove) {
  return h('div', { class: 'binding', role: 'group', 'aria-label': kind.one },
    kind.fields.map(([name, label, how]) => field(label, control(binding, name, how))),
    h('button', { type: 'button', 'aria-label': `Remove this ${kind.one}`, onclick: remove }, 'Remove'))
}

function control (binding, name, how) {
  if (Array.isArray(how)) {
    return select(how, binding[name] ?? how[0], { name, onchange: event => { binding[name] = event.target.value } })
  }
  if (how === true) {
    return h('input', {
      type: 'checkbox', name, checked: Boolean(binding[name]),
      onchange: event => { binding[name] = event.target.checked }
    })
  }
  return h('input', {
    type: 'text', autocomplete: 'off', name, value: binding[name] ?? '', ...how,
    oninput: event => { binding[name] = event.target.value }
  })
}

// save gets all bindings.
export function bindingsForm (stored, save) {
  const bindings = structuredClone(stored)
  for (const { member } of KINDS) bindings[member] ??= []
  const message = h('p', { role: 'status' })
  const lists = KINDS.map(kind => {
    const rows = h('div', {})
    const list = bindings[kind.member]
    const draw = () => replace(rows, list.map(binding => bindingRow(kind, binding, () => {
      list.splice(list.indexOf(binding), 1)
      draw()
    })))
    draw()
    return h('fieldset', { 'data-kind': kind.member }, h('legend', {}, kind.title), rows,
      h('button', {
        type: 'button',
        onclick: () => {
          list.push({ ...kind.fresh })
          draw()
          rows.lastElementChild.querySelector('input').focus()
        }
      }, `Add a ${kind.one}`))
  })
  return h('form', { id: 'bindings', onsubmit: event => { event.preventDefault(); save(bindings, message) } },
    h('div', { class: 'fields' },
      field('Source', control(bindings, 'source_bucket', { list: 'databases', required: true }),
        'The database whose changes the function sees.'),
      field('Metadata', control(bindings, 'metadata_bucket', { list: 'databases' }),
        'Kept for Couchbase’s tools; not needed.')),
    lists, h('button', { class: 'primary' }, 'Save bindings'), message)
}
