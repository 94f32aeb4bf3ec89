import { test } from 'node:test'
import assert from 'node:assert/strict'
import { contents, fileOf, headerIn, headerOf } from './archive'

test('the first line of a file says what archive it is', async () => {
  assert.deepEqual(headerOf('{"name":"settee","format":1,"db":"a/b","partitioned":true}'), { form: 'settee', db: 'a/b', partitioned: true })
  assert.deepEqual(headerOf('{"name":"@cloudant/couchbackup","version":"2.11.0"}'), { form: 'couchbackup', partitioned: false })
  assert.deepEqual(headerOf('[{"_id":"a"}]'), { form: 'couchbackup', partitioned: false })
  for (const other of ['', 'null', '17', '{}', '{"name":"x"}', 'a,b', '{"name":"settee"']) assert.equal(headerOf(other), undefined, other)
  assert.equal((await headerIn(new Blob(['{"name":"settee","db":"x"}\n', '[{"_id":"\n']))) ?.db, 'x')
  assert.equal(await headerIn(new Blob(['x'.repeat(3 << 20)])), undefined)
})

test('an archive is said in words, and gets a name that a file may have', () => {
  assert.equal(contents({ documents: 1, revisions: 2, attachments: 0 }), '1 document, 2 revisions and 0 attachments')
  assert.equal(fileOf('a/b', 'settee'), 'a-b.settee')
  assert.equal(fileOf('a/b', 'couchbackup'), 'a-b.backup')
})
