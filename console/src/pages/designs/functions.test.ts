import { test } from 'node:test'
import assert from 'node:assert/strict'
import { functionsOf, lineRange, placeOfError, withValue } from './functions'

const design = {
  _id: '_design/d', _rev: '1-a', views: { lib: {}, a: { map: 'm', reduce: '_sum' }, b: { map: 'm', reduce: 'r' } },
  filters: { f: 'f' }, validate_doc_update: 'v', indexes: { s: { index: 'i' } }
}

test('functions are found by their paths, built-in reduces are none', () => {
  assert.deepEqual(functionsOf(design).map(one => one.path.join('/')),
    ['views/a/map', 'views/b/map', 'views/b/reduce', 'indexes/s/index', 'filters/f', 'validate_doc_update'])
})

test('a value is put and taken away without touching the rest', () => {
  const changed = withValue(design, ['views', 'c', 'map'], 'new')
  assert.deepEqual(changed.views!.c, { map: 'new' })
  assert.deepEqual(withValue(changed, ['views', 'c'], undefined), design)
  assert.equal(withValue(design, ['updates', 'u'], 'x').updates !== undefined, true)
})

test('errors of the compiler have a place', () => {
  const reason = "Compilation of the map function in the 'x' view failed: (new Error(\"Line 3: Unexpected token }\", \"./share/server/main.js\", 3)) (function"
  assert.deepEqual(placeOfError(reason), { path: ['views', 'x', 'map'], line: 3 })
  assert.deepEqual(lineRange('ab\n cd\nef', 2), { from: 4, to: 6 })
  assert.deepEqual(lineRange('ab', 9), { from: 0, to: 2 })
})
