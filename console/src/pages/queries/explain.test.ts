import { test } from 'node:test'
import assert from 'node:assert/strict'
import { helpfulIndex, pathsOf, type Explained } from './explain'

const all = { ddoc: null, name: '_all_docs', type: 'special' }
const byStatus = { ddoc: '_design/bystatus', name: 'bystatus', type: 'json', def: { fields: [{ status: 'asc' }] } }
const base: Explained = { index: all, selector: {}, opts: { sort: {} }, index_candidates: [] }

test('the chosen path is first, the others say why not', () => {
  const paths = pathsOf({
    ...base, index: byStatus,
    index_candidates: [{ index: all, analysis: { usable: true, reasons: [{ name: 'unfavored_type' }] } }]
  }, 3000)
  assert.deepEqual(paths.map(path => [path.title, path.chosen, path.estimate]), [['Index bystatus', true, undefined], ['All documents', false, 3000]])
  assert.match(paths[1]!.words, /another type/)
})

test('an index over all fields gives its estimates', () => {
  const way = { type: 'auto', ddoc: '_design/all', name: 'all', sorted: false, exact: true }
  const paths = pathsOf({
    ...base, index: { ddoc: '_design/all', name: 'all', type: 'auto' },
    auto: { ready: true, ways: [{ ...way, field: 'a', estimate: 114, chosen: false }, { ...way, field: 'b', estimate: 60, chosen: true }] },
    index_candidates: [{ index: { ddoc: '_design/all', name: 'all', type: 'auto' }, analysis: { usable: true, reasons: [] } }]
  }, 3000)
  assert.deepEqual(paths.map(path => [path.title, path.estimate]), [['All-fields index all, field b', 60], ['All-fields index all, field a', 114]])
})

test('the index that helps has what equals a value, then the order, else one range', () => {
  const selector = { $and: [{ n: { $gt: 3 } }, { status: { $eq: 'paid' } }, { m: { $lt: 4 } }, { $or: [] }] }
  assert.deepEqual(helpfulIndex({ ...base, selector }, {}), { fields: ['status', 'n'], values: [] })
  assert.deepEqual(helpfulIndex({ ...base, selector, opts: { sort: { day: 'asc' } } }, {}), { fields: ['status', 'day'], values: [] })
  assert.deepEqual(helpfulIndex({ ...base, selector: { n: { $gt: 1 } } }, {}), { fields: ['n'], values: [] })
  assert.equal(helpfulIndex({ ...base, index: byStatus, selector: { status: { $eq: 'paid' } } }, {}), undefined)
  assert.equal(helpfulIndex({ ...base, selector: { n: { $ne: 1 } } }, {}), undefined)
})

test('groups want an index of their fields with the values that are added up', () => {
  const body = { group_by: ['country', { field: 'day', prefix: 7 }], values: { n: { $count: true }, s: { $sum: 'amount' }, a: { $avg: 'amount' } } }
  assert.deepEqual(helpfulIndex(base, body), { fields: ['country', 'day'], values: ['amount'] })
})
