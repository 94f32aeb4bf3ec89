// A tour of the document API with nano, verified by content.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { buffer } from 'node:stream/consumers'
import Nano from 'nano'

import { databaseName, startServer } from '../lib/server.js'

let server, nano, name, db
const used = []

before(async () => {
  server = await startServer()
  nano = Nano(server.url)
})

after(async () => {
  for (const each of used) await nano.db.destroy(each).catch(() => {})
  await server?.stop()
})

beforeEach(async () => {
  name = databaseName('nano')
  used.push(name)
  await nano.db.create(name)
  db = nano.use(name)
})

async function fails (promise, status, reason) {
  await assert.rejects(promise, error => {
    assert.equal(error.statusCode, status)
    if (reason) assert.equal(error.reason, reason)
    return true
  })
}

const request = (method, path, options = {}) => nano.request({ db: name, method, path, ...options })

describe('server', () => {
  it('introduces itself', async () => {
    const info = await nano.info()
    assert.equal(info.couchdb, 'Welcome')
    assert.match(info.version, /^3\.\d+/)
    const { uuids } = await nano.uuids(5)
    assert.equal(new Set(uuids).size, 5)
    uuids.forEach(uuid => assert.match(uuid, /^[0-9a-f]{32}$/))
    assert.deepEqual(await nano.request({ path: '_up' }), { status: 'ok', seeds: {} })
    assert.ok(Array.isArray(await nano.request({ path: '_active_tasks' })))
    assert.deepEqual(Object.keys(await nano.request({ path: '_membership' })), ['all_nodes', 'cluster_nodes'])
  })

  it('has databases', async () => {
    assert.ok((await nano.db.list()).includes(name))
    const listed = JSON.parse(await buffer(nano.db.listAsStream()))
    assert.ok(listed.includes(name))
    const info = await nano.db.get(name)
    assert.equal(info.db_name, name)
    assert.equal(info.doc_count, 0)
    await fails(nano.db.create(name), 412)
    await fails(nano.db.create('UPPER'), 400)
    const [row] = await nano.request({ method: 'POST', path: '_dbs_info', body: { keys: [name] } })
    assert.equal(row.info.db_name, name)
    assert.deepEqual(await nano.db.compact(name), { ok: true })
    assert.deepEqual(await nano.db.destroy(name), { ok: true })
    await fails(nano.db.get(name), 404, 'Database does not exist.')
  })

  it('tells about changes of databases', async () => {
    await nano.db.create('_global_changes').catch(error => assert.equal(error.statusCode, 412))
    const born = databaseName('nano')
    used.push(born)
    await nano.db.create(born)
    for (const deadline = Date.now() + 10_000; ; await sleep(100)) {
      const { results } = await nano.db.updates()
      const row = results.find(({ db_name: which, type }) => which === born && type === 'created')
      if (row) {
        assert.ok(row.seq)
        break
      }
      assert.ok(Date.now() < deadline, 'no event for a new database')
    }
  })
})

describe('documents', () => {
  it('are written, read, edited and deleted', async () => {
    const first = await db.insert({ text: 'ä€😀', list: [1, 2.5, null] }, 'a document/with odd+characters')
    assert.equal(first.ok, true)
    const doc = await db.get('a document/with odd+characters')
    assert.deepEqual(doc, { _id: first.id, _rev: first.rev, text: 'ä€😀', list: [1, 2.5, null] })
    const head = await db.head(first.id)
    assert.equal(head.etag, `"${first.rev}"`)
    await fails(db.insert({ text: 'again' }, first.id), 409, 'Document update conflict.')
    const second = await db.insert({ ...doc, text: 'edited' })
    assert.match(second.rev, /^2-/)
    const meta = await db.get(first.id, { revs_info: true, revs: true })
    assert.deepEqual(meta._revs_info.map(({ rev }) => rev), [second.rev, first.rev])
    assert.equal((await db.get(first.id, { rev: first.rev })).text, 'ä€😀')
    const gone = await db.destroy(first.id, second.rev)
    assert.match(gone.rev, /^3-/)
    await fails(db.get(first.id), 404, 'deleted')
    await fails(db.get('never'), 404, 'missing')
    const { id } = await db.insert({ without: 'id' })
    assert.match(id, /^[0-9a-f]{32}$/)
  })

  it('come and go in bulk', async () => {
    const results = await db.bulk({ docs: Array.from({ length: 20 }, (_, i) => ({ _id: `d${10 + i}`, i })) })
    assert.equal(results.length, 20)
    results.forEach(({ ok }) => assert.equal(ok, true))
    const [conflict] = await db.bulk({ docs: [{ _id: 'd10' }] })
    assert.equal(conflict.error, 'conflict')
    assert.deepEqual(await db.bulk({ new_edits: false, docs: [{ _id: 'r', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] } }] }), [])

    const list = await db.list({ startkey: 'd12', endkey: 'd14', include_docs: true })
    assert.equal(list.total_rows, 21)
    assert.equal(list.offset, 2)
    assert.deepEqual(list.rows.map(({ doc }) => doc.i), [2, 3, 4])
    const streamed = JSON.parse(await buffer(db.listAsStream({ limit: 3, descending: true })))
    assert.deepEqual(streamed.rows.map(({ id }) => id), ['r', 'd29', 'd28'])
    const fetched = await db.fetch({ keys: ['d11', 'none', 'd10'] })
    assert.deepEqual(fetched.rows.map(row => row.doc?.i ?? row.error), [1, 'not_found', 0])
    const revs = await db.fetchRevs({ keys: ['d11'] })
    assert.match(revs.rows[0].value.rev, /^1-/)

    const { results: got } = await request('POST', '_bulk_get', { body: { docs: [{ id: 'r', rev: '2-b' }, { id: 'r', rev: '9-x' }] }, qs: { revs: true } })
    assert.deepEqual(got[0].docs[0].ok._revisions, { start: 2, ids: ['b', 'a'] })
    assert.equal(got[1].docs[0].error.reason, 'missing')
    assert.deepEqual(await request('POST', '_revs_diff', { body: { r: ['2-b', '3-c'] } }), { r: { missing: ['3-c'], possible_ancestors: ['2-b'] } })
    assert.deepEqual(await request('POST', '_missing_revs', { body: { r: ['3-c'] } }), { missing_revs: { r: ['3-c'] } })
    assert.deepEqual((await request('POST', '_purge', { body: { r: ['2-b'] } })).purged, { r: ['2-b'] })
    await fails(db.get('r'), 404, 'missing')
  })

  it('can be local or design documents', async () => {
    const local = await db.insert({ v: 1 }, '_local/mine')
    assert.equal(local.rev, '0-1')
    assert.equal((await db.get('_local/mine')).v, 1)
    const { rows } = await request('GET', '_local_docs')
    assert.deepEqual(rows.map(({ id }) => id), ['_local/mine'])
    await db.insert({ views: {} }, '_design/one')
    const designs = await request('GET', '_design_docs')
    assert.deepEqual(designs.rows.map(({ id }) => id), ['_design/one'])
  })
})

describe('attachments', () => {
  const binary = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, i) => (i * 7) >> 2))

  it('are stored and read one by one', async () => {
    const first = await db.attachment.insert('doc', 'data.bin', binary, 'application/octet-stream')
    const second = await db.attachment.insert('doc', 'notes.txt', 'some notes '.repeat(100), 'text/plain', { rev: first.rev })
    assert.deepEqual(await db.attachment.get('doc', 'data.bin'), binary)
    assert.deepEqual(await buffer(db.attachment.getAsStream('doc', 'data.bin')), binary)
    assert.equal(String(await db.attachment.get('doc', 'notes.txt')), 'some notes '.repeat(100))
    const doc = await db.get('doc')
    assert.equal(doc._attachments['data.bin'].length, binary.length)
    const third = await db.attachment.destroy('doc', 'notes.txt', { rev: second.rev })
    assert.match(third.rev, /^3-/)
    await fails(db.attachment.get('doc', 'notes.txt'), 404)
  })

  it('travel with their document', async () => {
    await db.multipart.insert({ v: 1 }, [
      { name: 'a.txt', data: 'plain text', content_type: 'text/plain' },
      { name: 'b.bin', data: binary, content_type: 'application/octet-stream' },
      { name: 'c.raw', data: 'kept as it is', content_type: 'application/octet-stream' }
    ], 'doc')
    assert.deepEqual(await db.attachment.get('doc', 'b.bin'), binary)
    const doc = await db.get('doc', { attachments: true })
    assert.equal(doc.v, 1)
    assert.equal(Buffer.from(doc._attachments['a.txt'].data, 'base64').toString(), 'plain text')
    const raw = String(await db.multipart.get('doc'))
    assert.match(raw, /^\r?\n?--[0-9a-f]+\r\n/)
    assert.match(raw, /filename="c\.raw"[^]*\r\n\r\nkept as it is\r\n/)
  })
})

describe('changes', () => {
  const write = (from, to) => db.bulk({ docs: Array.from({ length: to - from }, (_, i) => ({ _id: `c${from + i}` })) })

  it('are listed', async () => {
    await write(0, 30)
    const feed = await db.changes({ limit: 10, include_docs: true })
    assert.equal(feed.results.length, 10)
    assert.equal(feed.pending, 20)
    feed.results.forEach(row => assert.equal(row.doc._id, row.id))
    const rest = await nano.db.changes(name, { since: feed.last_seq })
    assert.equal(rest.results.length, 20)
    assert.equal(rest.pending, 0)
    const streamed = JSON.parse(await buffer(db.changesAsStream({ since: rest.last_seq })))
    assert.deepEqual(streamed.results, [])
  })

  it('are read in batches', async () => {
    await write(0, 250)
    const seen = []
    await new Promise((resolve, reject) => {
      db.changesReader.get({ since: '0', batchSize: 100, timeout: 1000 })
        .on('batch', batch => seen.push(...batch.map(({ id }) => id))).on('end', resolve).on('error', reject)
    })
    assert.equal(seen.length, 250)
    assert.equal(new Set(seen).size, 250)
  })

  it('are spooled', async () => {
    await write(0, 250)
    const seen = []
    await new Promise((resolve, reject) => {
      db.changesReader.spool({ since: '0', batchSize: 100 })
        .on('batch', batch => seen.push(...batch.map(({ id }) => id))).on('end', resolve).on('error', reject)
    })
    assert.equal(new Set(seen).size, 250)
  })

  it('are followed', async () => {
    await write(0, 5)
    const seen = []
    const { update_seq: since } = await db.info()
    await new Promise((resolve, reject) => {
      db.changesReader.start({ since, timeout: 5000, includeDocs: true })
        .on('change', change => {
          seen.push(change.doc._id)
          if (seen.length === 10) {
            db.changesReader.stop()
            resolve()
          }
        })
        .on('error', error => { if (seen.length < 10) reject(error) })
      const add = async () => { for (let i = 5; i < 15; i++) await db.insert({}, `c${i}`) }
      add().catch(reject)
    })
    assert.deepEqual(seen, Array.from({ length: 10 }, (_, i) => `c${5 + i}`))
  })
})

describe('the rest', () => {
  it('knows partitions', async () => {
    const other = databaseName('nano')
    used.push(other)
    await nano.db.create(other, { partitioned: true })
    const parts = nano.use(other)
    await parts.bulk({ docs: [{ _id: 'a:1' }, { _id: 'a:2' }, { _id: 'b:1' }] })
    const info = await parts.partitionInfo('a')
    assert.equal(info.doc_count, 2)
    assert.equal(info.partition, 'a')
    assert.deepEqual((await parts.partitionedList('a')).rows.map(({ id }) => id), ['a:1', 'a:2'])
    const streamed = JSON.parse(await buffer(parts.partitionedListAsStream('b')))
    assert.deepEqual(streamed.rows.map(({ id }) => id), ['b:1'])
    await fails(parts.insert({}, 'no-partition'), 400)
  })

  it('keeps settings of a database', async () => {
    assert.equal(await request('GET', '_revs_limit'), 1000)
    assert.deepEqual(await request('PUT', '_revs_limit', { body: 50 }), { ok: true })
    assert.equal(await request('GET', '_revs_limit'), 50)
    assert.equal(await request('GET', '_purged_infos_limit'), 1000)
    const security = { admins: { names: ['ann'], roles: [] }, members: { names: [], roles: ['staff'] } }
    assert.deepEqual(await request('PUT', '_security', { body: security }), { ok: true })
    assert.deepEqual(await request('GET', '_security'), security)
    const { shards } = await request('GET', '_shards')
    assert.ok(Object.keys(shards).length > 0)
    assert.equal((await request('POST', '_ensure_full_commit', { body: {} })).ok, true)
    assert.deepEqual(await request('POST', '_view_cleanup', { body: {} }), { ok: true })
  })
})
