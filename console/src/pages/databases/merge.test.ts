import { test } from 'node:test'
import assert from 'node:assert/strict'
import { membersIn, solve } from './merge'

const versions = [
  { _id: 'a', _rev: '3-c', x: 1, y: { b: 1, a: 2 }, only: true },
  { _id: 'a', _rev: '3-b', x: 2, y: { a: 2, b: 1 } },
  { _id: 'a', _rev: '2-z', x: 1, y: { a: 2, b: 1 }, _attachments: { f: { stub: true } } }
]

test('members are compared by value, whatever the order in them', () => {
  const same = Object.fromEntries(membersIn(versions).map(member => [member.name, member.same]))
  assert.deepEqual(same, { x: false, y: true, only: false, _attachments: false })
})

test('one version is kept as it is and the others end', () => {
  const all = (n: number) => new Map(['x', 'y', 'only', '_attachments'].map(name => [name, n]))
  const end = (rev: string) => ({ _id: 'a', _rev: rev, _deleted: true })
  assert.deepEqual(solve(versions, new Map()), [end('3-b'), end('2-z')])
  assert.deepEqual(solve(versions, all(1)), [end('3-c'), end('2-z')])
  assert.deepEqual(solve(versions, all(2)), [end('3-c'), end('3-b')])
})

test('a merge is written over the version whose attachments are chosen', () => {
  const written = solve(versions, new Map([['x', 1], ['_attachments', 2]]))
  assert.deepEqual(written[0], { _id: 'a', _rev: '2-z', x: 2, y: { b: 1, a: 2 }, only: true, _attachments: { f: { stub: true } } })
  assert.deepEqual(written.slice(1).map(doc => doc._rev), ['3-c', '3-b'])
  // The same choice without attachments is a change of the first version, which loses a member.
  assert.deepEqual(solve(versions, new Map([['only', 1]]))[0], { _id: 'a', _rev: '3-c', x: 1, y: { b: 1, a: 2 } })
})
