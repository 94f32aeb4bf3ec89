import { test } from 'node:test'
import assert from 'node:assert/strict'
import { asText, fromText, shown } from './settings'

test('settings without effect and those of the buttons are not shown', () => {
  const { usual, more } = shown({ description: '', tick_duration: 1, processing_status: true, hop_limit: 4 })
  assert.deepEqual(usual, ['description', 'selector'])
  assert.deepEqual(more, ['hop_limit'])
})

test('a field gives back a value of the type that was there', () => {
  for (const [name, value] of [['description', 'x'], ['worker_count', 3], ['selector', { a: 1 }], ['handler_headers', ['a', 'b']], ['selector', null]] as const) {
    assert.deepEqual(fromText(name, value, asText(name, value)), value)
  }
  assert.throws(() => fromText('worker_count', 1, 'many'), /number/)
  assert.throws(() => fromText('selector', null, '{'), /no JSON/)
})
