import { test } from 'node:test'
import assert from 'node:assert/strict'
import { allFieldsState, indexesOf, progressOf, searchState, viewState } from './indexes'

test('indexes of all kinds are listed by their documents', () => {
  const rev = { _rev: '1-a' }
  const entries = indexesOf([
    { _id: '_design/shop', ...rev, views: { v: { map: '', reduce: '_sum' }, lib: {} }, indexes: { s: { analyzer: { name: 'english' } } }, nouveau: { n: {} } },
    { _id: '_design/q', ...rev, language: 'query', views: { q: {} } }
  ], [
    { ddoc: null, name: '_all_docs', type: 'special', def: {} },
    { ddoc: '_design/q', name: 'q', type: 'json', def: { fields: [{ a: 'asc' }, { b: 'desc' }], values: ['n'], partial_filter_selector: { t: 1 } } },
    { ddoc: '_design/all', name: 'all', type: 'auto', def: {} }
  ])
  assert.deepEqual(entries.map(one => [one.kind, one.ddoc, one.name, one.about]), [
    ['auto', 'all', 'all', 'all fields'], ['json', 'q', 'q', 'a, b desc, sums of n, of some documents'],
    ['view', 'shop', 'v', 'map, _sum'], ['search', 'shop', 's', 'analyzer english'], ['nouveau', 'shop', 'n', 'analyzer standard']
  ])
})

test('states are said in words', () => {
  const view = (total: number, updater_running: boolean) => ({ view_index: { updates_pending: { total }, updater_running, sizes: { active: 5 } } })
  assert.equal(viewState(view(0, false)).word, 'up to date')
  assert.equal(viewState(view(3, false)).word, '3 changes behind')
  assert.equal(viewState(view(3, true)).tone, 'running')
  assert.equal(viewState({ ...view(3, true), state: 'paused', reason: 'why' }).reason, 'why')
  assert.deepEqual(searchState({ search_index: { pending_seq: 4, committed_seq: 3, disk_size: 9, error_count: 2 } }), { tone: 'waiting', word: '1 change behind', bytes: 9, errors: 2 })
  assert.equal(allFieldsState({ ddoc: 'a', name: 'a', type: 'auto', def: {}, state: 'building' }).tone, 'running')
})

test('the time left follows from what was done', () => {
  const task = { type: 'indexer', database: 'd', design_document: '_design/x', progress: 25, started_on: 100, updated_on: 110 }
  assert.deepEqual(progressOf([task], 'd', 'x'), { share: 0.25, left: 30 })
  assert.equal(progressOf([task], 'd', 'y'), undefined)
})
