import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ago, bytes, count, duration, plural } from './format'

test('sizes have the unit people use', () => {
  const cases: [number | undefined, string][] = [
    [0, '0 bytes'], [999, '999 bytes'], [1000, '1.0 KB'], [123_456, '123 KB'], [1_234_567_890, '1.2 GB'], [undefined, '–']
  ]
  for (const [n, want] of cases) assert.equal(bytes(n), want)
})

test('durations have the unit people use', () => {
  const cases: [number, string][] = [
    [0.25, '0.25 ms'], [12, '12 ms'], [3400, '3.4 s'], [300_000, '5 min'], [7_200_000, '2 h'], [86_400_000, '1 day'],
    [3 * 86_400_000, '3 days']
  ]
  for (const [ms, want] of cases) assert.equal(duration(ms), want)
  assert.equal(ago(1000, 1500), 'now')
  assert.equal(ago(0, 180_000), '3 min ago')
  assert.equal(ago(180_000, 0), 'in 3 min')
})

test('numbers have separators and nouns', () => {
  assert.equal(count(1234567), '1,234,567')
  assert.equal(plural(1, 'document'), '1 document')
  assert.equal(plural(2000, 'index', 'indexes'), '2,000 indexes')
})
