import { test } from 'node:test'
import assert from 'node:assert/strict'
import { score } from './match'

test('a command is found by letters in their order', () => {
  assert.equal(score('', 'Overview'), 0)
  assert.equal(score('over', 'Overview'), 0)
  assert.equal(score('view', 'Overview'), 4)
  assert.ok(score('ovw', 'Overview')! >= 100)
  assert.equal(score('xyz', 'Overview'), undefined)
})
