import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readSaved, remember, type Ran } from './saved'

const ran = (text: string, at: number): Ran => ({ kind: 'mango', db: 'd', of: undefined, text, at, rows: 1, ms: 1 })

test('the last fifty queries are remembered once each', () => {
  let history: Ran[] = []
  for (let i = 0; i < 60; i++) history = remember(history, ran(String(i), i))
  history = remember(history, ran('30', 99))
  assert.equal(history.length, 50)
  assert.deepEqual(history.slice(0, 2).map(one => one.text), ['30', '59'])
})

test('what was exported is read again, and nothing else', () => {
  const saved = { big: { kind: 'mango', db: 'd', text: '{}' } }
  assert.deepEqual(readSaved(JSON.stringify(saved)), { big: { ...saved.big, of: undefined } })
  for (const wrong of ['x', '[]', '{"a":null}', '{"a":{"kind":"other","db":"d","text":""}}', '{"a":{"kind":"view","db":1,"text":""}}']) {
    assert.throws(() => readSaved(wrong))
  }
})
