import { test } from 'node:test'
import assert from 'node:assert/strict'
import { inWords, lag, shortAddress, speed, withoutSecrets, type Info } from './state'

test('the lag of a replication is said with the time that is left', () => {
  const cases: [Info | null, number | undefined, string][] = [
    [null, 10, '–'], [{ changes_pending: null }, 10, '–'], [{ changes_pending: 0 }, 10, 'in step'],
    [{ changes_pending: null, source_seq: '5-x', through_seq: '5-x' }, 0, 'in step'],
    [{ changes_pending: null, source_seq: '5-x', through_seq: '4-x' }, 0, '–'],
    [{ changes_pending: 1 }, undefined, '1 change'], [{ changes_pending: 5000 }, 100, '5,000 changes, 50 s']
  ]
  for (const [info, perSecond, want] of cases) assert.equal(lag(info, perSecond), want)
})

test('a speed needs two samples of one run', () => {
  assert.equal(speed(undefined, { at: 1, written: 1 }), undefined)
  assert.equal(speed({ at: 0, written: 10 }, { at: 2000, written: 30 }), 10)
  assert.equal(speed({ at: 0, written: 100 }, { at: 2000, written: 30 }), undefined)
})

test('addresses are shown without passwords, and short on this server', () => {
  assert.equal(withoutSecrets('https://a:b@h.example/db'), 'https://h.example/db')
  assert.equal(shortAddress('http://a:b@here:5984/a%2Fb/', 'http://here:5984'), 'a/b')
  assert.equal(shortAddress('https://there/db/', 'http://here:5984'), 'https://there/db')
})

test('errors are said in words', () => {
  assert.match(inWords('{error, econnrefused}')!, /Nothing listens/)
  assert.match(inWords('db_not_found: could not open http://x/y')!, /does not exist/)
  assert.equal(inWords('something else'), undefined)
})
