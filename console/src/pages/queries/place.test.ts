import { test } from 'node:test'
import assert from 'node:assert/strict'
import { markOf } from './place'

const at = (text: string, reason: string) => {
  const mark = markOf(text, reason)
  return mark && text.slice(mark.from, mark.to)
}

test('an error is marked where its reason says', () => {
  const text = '{"selector": {"a": {"$gtx": 3}, "b": {"$in": 3}}, "sort": ["c"], "foo": 1, "limit": "x"}'
  assert.equal(at(text, 'Invalid operator: $gtx'), '"$gtx"')
  assert.equal(at(text, 'Bad argument for operator $in: 3'), '"$in"')
  assert.equal(at(text, 'Invalid key foo for this request.'), '"foo"')
  assert.equal(at(text, '<<120>> is not an integer greater than or equal to zero'), '"x"')
  assert.equal(at(text, 'No index exists for this sort, try indexing by the sort fields.'), '"sort"')
  assert.equal(at(text, 'the store is full'), undefined)
})

test('an error of a search is marked in its words', () => {
  const text = '{"limit": 1, "q": "red AND ("}'
  assert.equal(at(text, "Cannot parse 'red AND (': Encountered \"<EOF>\" at line 1, column 9."), '(')
  assert.equal(at('{"q": ""}', 'Encountered "<EOF>" at line 1, column 0.'), '"')
})
