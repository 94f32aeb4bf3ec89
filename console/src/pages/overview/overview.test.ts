import { test } from 'node:test'
import assert from 'node:assert/strict'
import { daysLeft, join, latest, left, share, subject, type Overview, type Task } from './overview'

const made = (times: number[], series: Overview['series'], now = times.at(-1)!): Overview =>
  ({ node: 'n', version: '', started: 1, now, limits: {}, times, series })

test('newer samples join those that are there, each once', () => {
  const a = made([10, 20], { x: [1, 2] })
  const b = join(a, made([20, 30], { x: [2, 3], y: [7, 8] }))
  assert.deepEqual([b.times, b.series], [[10, 20, 30], { x: [1, 2, 3], y: [null, null, 8] }])
  assert.deepEqual(join(b, made([], {}, 30)).times, [10, 20, 30])
  assert.deepEqual(join(b, made([4000], { x: [9] })).series.x, [9], 'an hour later only that is left')
  assert.deepEqual(join(b, { ...made([5], { x: [1] }), started: 2 }).times, [5], 'a process that began anew')
})

test('the newest known value counts', () => {
  assert.equal(latest(made([1, 2], { x: [5, null] }), 'x'), 5)
  assert.equal(latest(made([1], {}), 'x'), undefined)
})

test('a volume that fills has days left', () => {
  const times = Array.from({ length: 11 }, (_, i) => i * 8640)
  assert.equal(daysLeft(made(times, { store_volume_free_bytes: times.map((_, i) => 100 - i) })), 9)
  assert.equal(daysLeft(made(times, { store_volume_free_bytes: times.map(() => 100) })), undefined)
})

test('tasks say what they work on, how much is done and how long it takes', () => {
  const build: Task = { type: 'indexer', pid: '1', node: 'n', database: 'a', design_document: '_design/d', progress: 25, started_on: 100 }
  assert.equal(subject(build), 'a · d')
  assert.equal(share(build), 0.25)
  assert.equal(left(build, 110_000), 30_000)
  assert.equal(left({ type: 'x', pid: '', node: '' }, 0), undefined)
})
