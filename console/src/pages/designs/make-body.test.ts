import { test } from 'node:test'
import assert from 'node:assert/strict'
import { indexBody, type IndexForm } from './make-body'

const form: IndexForm = { kind: 'json', fields: '', ddoc: '', name: '', filter: '', analyzer: 'english' }

test('forms become definitions', () => {
  assert.deepEqual(indexBody({ ...form, fields: 'country, day desc', ddoc: 'd', filter: '{"t":1}' }),
    { index: { fields: ['country', { day: 'desc' }], partial_filter_selector: { t: 1 } }, type: 'json', ddoc: 'd' })
  assert.deepEqual(indexBody({ ...form, kind: 'auto', fields: 'log' }), { index: { exclude: ['log'] }, type: 'auto' })
  assert.deepEqual(indexBody({ ...form, kind: 'text', fields: 'age number, name' }), {
    index: { fields: [{ name: 'age', type: 'number' }, { name: 'name', type: 'string' }], default_field: { enabled: true, analyzer: 'english' } }, type: 'text'
  })
  const { index } = indexBody({ ...form, kind: 'nouveau', fields: 'note, a.b' })
  assert.match(index as string, /if \(doc\["a"\] && typeof doc\["a"\]\["b"\] === 'string'\) index\('text', "a.b", doc\["a"\]\["b"\], \{store: true\}\)/)
})

test('what cannot be a definition is said', () => {
  assert.throws(() => indexBody(form), /at least one field/)
  assert.throws(() => indexBody({ ...form, fields: 'a', filter: '{' }), /not JSON/)
  assert.throws(() => indexBody({ ...form, kind: 'text', fields: 'a date' }), /type of a/)
})
