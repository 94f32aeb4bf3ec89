import { test } from 'node:test'
import assert from 'node:assert/strict'
import { memberNamed, parseDoc, parseFilter } from './text'

test('what is typed above the list is the begin of an id or a selector', () => {
  assert.deepEqual(parseFilter(''), { filter: { kind: 'all' } })
  assert.deepEqual(parseFilter('order:'), { filter: { kind: 'prefix', prefix: 'order:' } })
  assert.deepEqual(parseFilter(' {"a":{"$gt":1}}'), { filter: { kind: 'selector', selector: { a: { $gt: 1 } } } })
})

test('a broken selector says where', () => {
  const text = '{"total": {"$gt": 1}, }'
  const read = parseFilter(text)
  assert.ok('error' in read)
  assert.equal(read.at, text.lastIndexOf('}'))
  assert.doesNotMatch(read.error, /position|JSON/)
  const open = parseFilter('{"total": ')
  assert.ok('error' in open && open.at === 10)
})

test('a document is an object', () => {
  for (const text of ['[]', '1', 'null', '"a"']) assert.deepEqual(parseDoc(text), { error: 'An object {…} is expected', at: 0 })
})

test('an error of a validation is at the member that it names', () => {
  const text = '{"a":1,"type":"x","total":{"sum":"total"},"address":{"city":"","sum":2},"sum":3}'
  const named = (reason: string) => {
    const piece = memberNamed(reason, text)
    return piece && text.slice(piece.from) .slice(0, piece.to - piece.from) + '@' + piece.from
  }
  assert.equal(named('the total has to be a number'), `"total"@${text.indexOf('"total"')}`)
  assert.equal(named('a document needs a total'), `"total"@${text.indexOf('"total"')}`)
  assert.equal(named("'type' is not one of total, a"), `"type"@${text.indexOf('"type"')}`)
  assert.equal(named('address.sum is negative'), `"sum"@${text.indexOf('"sum":2')}`)
  assert.equal(named('nothing of this'), undefined)
})
