import { test } from 'node:test'
import assert from 'node:assert/strict'
import { useOf, type Use } from './index-use'
import type { IndexEntry } from './indexes'

const known: Use = {
  ddoc: '_design/d',
  changed: '2026-01-01T00:00:00Z',
  indexes: [{ type: 'view', name: 'v', last_used: '2026-03-01T00:00:00Z' }, { type: 'nouveau', name: 'n', last_used: '2026-01-02T00:00:00Z' }]
}
const entry = (kind: string, name: string, type?: string) =>
  ({ kind, ddoc: 'd', name, about: '', ...(type && { mango: { ddoc: '_design/d', name, type, def: {} } }) }) as IndexEntry
const day = (text: string) => Date.parse(`${text}T00:00:00Z`)

test('the last use counts, without one the time of the design document', () => {
  const now = day('2026-03-02')
  assert.deepEqual(useOf(known, entry('view', 'v'), now), { at: day('2026-03-01'), used: true, idle: false })
  assert.deepEqual(useOf(known, entry('json', 'v', 'json'), now), { at: day('2026-03-01'), used: true, idle: false })
  assert.deepEqual(useOf(known, entry('search', 'v'), now), { at: day('2026-01-01'), used: false, idle: true })
  assert.deepEqual(useOf(known, entry('text', 'n', 'nouveau'), now), { at: day('2026-01-02'), used: true, idle: true })
})

test('an index is idle after thirty days, and nothing is said where nothing is known', () => {
  assert.equal(useOf(known, entry('view', 'v'), day('2026-03-30'))!.idle, false)
  assert.equal(useOf(known, entry('view', 'v'), day('2026-03-31'))!.idle, true)
  assert.equal(useOf(undefined, entry('view', 'v')), undefined)
  assert.equal(useOf({ ddoc: '_design/d', indexes: [] }, entry('view', 'v')), undefined)
})
