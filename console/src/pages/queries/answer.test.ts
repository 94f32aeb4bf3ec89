import { test } from 'node:test'
import assert from 'node:assert/strict'
import { columnsOf, numericOf, rowsOf } from './answer'

test('documents are rows whose columns are their members', () => {
  const { rows, bookmark, total } = rowsOf('mango', {}, { docs: [{ _id: 'a', _rev: '1-a', n: 1 }, { _id: 'b', n: 2, m: 'x' }], bookmark: 'nil', count: 7 })
  assert.deepEqual(columnsOf(rows), { columns: ['_id', 'n', 'm'], left: 0 })
  assert.deepEqual(numericOf(rows, ['_id', 'n', 'm']), ['n'])
  assert.equal(rows[1]!.id, 'b')
  assert.equal(bookmark, undefined)
  assert.equal(total, 7)
})

test('groups have the names of their fields', () => {
  const body = { group_by: ['country', { field: 'day', prefix: 7 }] }
  const { rows } = rowsOf('aggregate', body, { groups: [{ key: ['DE', '2026-11'], n: 3 }], bookmark: '' })
  assert.deepEqual(rows[0]!.cells, { country: 'DE', day: '2026-11', n: 3 })
})

test('hits of both kinds of search have their score and fields', () => {
  const clouseau = rowsOf('search', {}, { rows: [{ id: 'a', order: [1.5, 0], fields: { name: 'x' } }], bookmark: 'b', total_rows: 1 })
  const nouveau = rowsOf('search', {}, { hits: [{ id: 'a', order: [{ '@type': 'float', value: 1.5 }], fields: { name: 'x' } }], bookmark: 'b', total_hits: 1 })
  assert.deepEqual(clouseau, nouveau)
  assert.deepEqual(clouseau.rows[0]!.cells, { id: 'a', score: 1.5, name: 'x' })
})

test('of many members those of most rows are columns', () => {
  const cells = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`m${i}`, i]))
  const { columns, left } = columnsOf([{ id: 'a', cells }, { id: 'b', cells: { m19: 1 } }], 3)
  assert.deepEqual(columns, ['m0', 'm1', 'm19'])
  assert.equal(left, 17)
})
