// Functions of design documents through nano and PouchDB: validation, filters, show, list, update.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import Nano from 'nano'
import PouchDB from 'pouchdb'

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

const design = {
  _id: '_design/app',
  lib: { html: "exports.escape = function (s) { return String(s).replace(/</g, '&lt;') }" },
  views: { byKind: { map: 'function (doc) { emit(doc.kind, doc.n) }' } },
  filters: { kind: 'function (doc, req) { return doc.kind === req.query.kind }' },
  shows: { page: "function (doc, req) { return { headers: { 'Content-Type': 'text/html' }, body: '<h1>' + require('lib/html').escape(doc.title) + '</h1>' } }" },
  lists: { csv: "function (head, req) { start({ headers: { 'Content-Type': 'text/csv' } }); var row; while (row = getRow()) send(row.id + ',' + row.key + '\\n') }" },
  updates: { bump: "function (doc, req) { doc = doc || { _id: req.id, kind: 'new', n: 0 }; doc.n += JSON.parse(req.body || '{}').by || 1; return [doc, { json: { n: doc.n } }] }" },
  validate_doc_update: "function (doc, old, user) { if (!doc._deleted && !doc.kind) throw({ forbidden: 'kind is missing' }) }"
}

beforeEach(async () => {
  name = databaseName('functions')
  used.push(name)
  await nano.db.create(name)
  db = nano.use(name)
  await db.insert(design)
  await db.bulk({ docs: Array.from({ length: 20 }, (_, i) => ({ _id: `d${String(i).padStart(2, '0')}`, kind: i % 2 ? 'odd' : 'even', n: i, title: `<${i}>` })) })
})

describe('nano', () => {
  it('shows, lists and updates', async () => {
    assert.equal(await db.show('app', 'page', 'd03'), '<h1>&lt;3></h1>')
    const csv = await db.viewWithList('app', 'byKind', 'csv', { key: 'odd', limit: 3 })
    assert.equal(csv, 'd01,odd\nd03,odd\nd05,odd\n')
    assert.deepEqual(await db.atomic('app', 'bump', 'd03', { by: 4 }), { n: 7 })
    assert.deepEqual(await db.atomic('app', 'bump', 'fresh', {}), { n: 1 })
    assert.equal((await db.get('d03')).n, 7)
    assert.equal((await db.get('fresh')).kind, 'new')
  })

  it('is told what validation refuses', async () => {
    await assert.rejects(db.insert({ _id: 'x' }), error => error.statusCode === 403 && error.reason === 'kind is missing')
    const results = await db.bulk({ docs: [{ _id: 'a', kind: 'k' }, { _id: 'b' }] })
    assert.deepEqual(results.map(r => r.error), [undefined, 'forbidden'])
  })
})

describe('PouchDB', () => {
  it('follows changes through a filter function and a view', async () => {
    const remote = new PouchDB(`${server.url}/${name}`, { skip_setup: true })
    for (const options of [{ filter: 'app/kind', query_params: { kind: 'odd' } }, { filter: '_view', view: 'app/byKind' }]) {
      const { results } = await remote.changes({ ...options, since: 0 })
      assert.equal(results.length, options.view ? 21 : 10) // the map function emits for the design document, too
    }
    const { update_seq: since } = await db.info() // 'now' could come after the writes below
    const live = await new Promise((resolve, reject) => {
      const feed = remote.changes({ live: true, since, filter: 'app/kind', query_params: { kind: 'live' }, heartbeat: 1000 })
      feed.on('change', change => { feed.cancel(); resolve(change.id) }).on('error', reject)
      db.insert({ _id: 'not', kind: 'odd' }).then(() => db.insert({ _id: 'yes', kind: 'live' })).catch(reject)
    })
    assert.equal(live, 'yes')
  })

  it('pushes to a database that validates', async () => {
    const remote = new PouchDB(`${server.url}/${name}`, { skip_setup: true })
    const results = await remote.bulkDocs([{ _id: 'p1', kind: 'k', _rev: '1-a' }, { _id: 'p2', _rev: '1-b' }], { new_edits: false })
    assert.deepEqual(results.filter(r => r.error).map(r => [r.id, r.name ?? r.error]), [['p2', 'forbidden']])
  })
})
