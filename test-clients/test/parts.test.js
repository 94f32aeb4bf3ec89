// Parts of documents and several at once through nano and PouchDB, which have no calls for them, and beside replication.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import Nano from 'nano'
import PouchDB from 'pouchdb'

import { databaseName, startServer } from '../lib/server.js'

let server, nano, name, db, foreign
const used = []

before(async () => {
  server = await startServer()
  nano = Nano(server.url)
  foreign = (await nano.info()).settee === undefined
})

after(async () => {
  for (const each of used) await nano.db.destroy(each).catch(() => {})
  await server?.stop()
})

beforeEach(async () => {
  name = databaseName('parts')
  used.push(name)
  await nano.db.create(name)
  db = nano.use(name)
  await db.insert({ n: 1, o: { p: 2, q: 3 }, text: 'long' }, 'doc')
})

const increment = [{ op: 'increment', path: '/n', value: 1 }]
// nano spells methods in small letters, which fetch sends as they are: PATCH is not one that it can send.
const patch = async (_id, _patch) => (await db.bulk({ docs: [{ _id, _patch }] }))[0]
const refused = (promise, statusCode, error) => assert.rejects(promise, { statusCode, error })

describe('nano', () => {
  it('asks whether there are parts, and a CouchDB writes nothing', async () => {
    if (!foreign) {
      assert.equal((await nano.info()).settee.patch, 1)
      return
    }
    await refused(patch('doc', increment), 400, 'doc_validation')
    const answer = await db.bulk({ atomic: true, all_or_nothing: true, docs: [{ _id: 'x' }] }).catch(error => error)
    assert.ok(answer.statusCode === 417 || answer[0].error)
    assert.equal((await db.info()).doc_count, 1)
  })

  it('patches, reads fields, writes all or nothing, once', async () => {
    if (foreign) return
    const { rev } = await patch('doc', { o: { q: null }, text: 'short' })
    assert.match(rev, /^2-/)
    assert.deepEqual(await db.get('doc', { fields: '["o","text"]' }), { _id: 'doc', _rev: rev, o: { p: 2 }, text: 'short' })
    const once = { docs: [{ _id: 'doc', _patch: increment }], atomic: true, all_or_nothing: true }
    const keyed = Nano({ url: server.url, headers: { 'Idempotency-Key': 'once' } }).use(name)
    for (let i = 0; i < 2; i++) await keyed.bulk(once)
    assert.equal(await nano.request({ db: name, doc: 'doc', qs: { pointer: '/n' } }), 2)
    assert.equal((await patch('doc', [{ op: 'test', path: '/n', value: 1 }])).error, 'conflict')
    assert.equal((await patch('none', increment)).error, 'not_found')

    const docs = [{ _id: 'a' }, { _id: 'doc', _patch: increment }]
    const rows = await db.bulk({ atomic: true, all_or_nothing: true, docs })
    assert.deepEqual(rows.map(row => row.ok), [true, true])
    await refused(db.bulk({ atomic: true, all_or_nothing: true, docs: [{ _id: 'b' }, { _id: 'a' }] }), 409, 'conflict')
    await refused(db.get('b'), 404, 'not_found')
    const check = [{ id: 'a', absent: true }]
    await refused(db.bulk({ atomic: true, all_or_nothing: true, docs: [{ _id: 'b' }], check }), 412, 'precondition_failed')
    const list = await db.list({ include_docs: true, fields: '["n"]' })
    assert.deepEqual(list.rows.map(row => row.doc.n), [undefined, 3])
  })
})

describe('PouchDB', () => {
  it('replicates what was patched, written atomically and brought back, and patches that it makes itself', async () => {
    if (foreign) return
    const remote = new PouchDB(`${server.url}/${name}`, { skip_setup: true })
    const send = async (path, method, body) => {
      const headers = new Headers({ 'Content-Type': 'application/json' })
      const answer = await remote.fetch(path, { method, headers, body: JSON.stringify(body) })
      return [answer.status, await answer.json()]
    }
    const local = new PouchDB(databaseName('local'), { adapter: 'leveldb', prefix: `${process.env.TMPDIR ?? '/tmp'}/settee-parts-` })
    try {
      const [, first] = await send('doc', 'PATCH', increment)
      await local.replicate.from(remote)
      assert.deepEqual(await local.get('doc'), await remote.get('doc'))
      assert.equal((await local.get('doc'))._rev, first.rev)

      await local.put({ ...await local.get('doc'), local: true })
      await local.replicate.to(remote)
      const [status] = await send('_bulk_docs', 'POST', {
        atomic: true, all_or_nothing: true, docs: [{ _id: 'a' }, { _id: 'doc', _patch: { o: null } }]
      })
      assert.equal(status, 201)
      const { _rev: rev } = await remote.get('a')
      await remote.remove({ _id: 'a', _rev: rev })
      assert.equal((await send(`a/_restore?rev=${rev}`, 'POST', {}))[0], 201)
      const result = await local.sync(remote)
      assert.equal(result.pull.doc_write_failures + result.push.doc_write_failures, 0)
      for (const id of ['a', 'doc']) {
        const options = { revs: true, conflicts: true }
        assert.deepEqual(await local.get(id, options), await remote.get(id, options))
      }
      assert.deepEqual(Object.keys(await local.get('doc')).sort(), ['_id', '_rev', 'local', 'n', 'text'])
    } finally {
      await local.destroy()
    }
  })
})
