// Views through nano and through PouchDB's HTTP adapter, verified by content.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { text } from 'node:stream/consumers'
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

// 60 orders of 3 customers; order 7 names customer c1 as a linked document.
const orders = Array.from({ length: 60 }, (_, i) => ({
  _id: `o${String(i).padStart(2, '0')}`, type: 'order', customer: `c${i % 3}`, day: [2026, 1 + (i % 4), 1 + (i % 7)], total: i
}))
const customers = ['c0', 'c1', 'c2'].map((_id, i) => ({ _id, type: 'customer', name: ['Zoë', 'Ärger', 'zebra'][i] }))

const design = {
  _id: '_design/shop',
  views: {
    byCustomer: { map: "function (doc) { if (doc.type === 'order') emit([doc.customer, doc.total], { _id: doc.customer }) }" },
    totals: { map: "function (doc) { if (doc.type === 'order') emit(doc.day, doc.total) }", reduce: '_stats' },
    most: {
      map: "function (doc) { if (doc.type === 'order') emit(doc.customer, doc.total) }",
      reduce: 'function (keys, values) { return Math.max.apply(null, values) }'
    },
    names: { map: 'function (doc) { if (doc.name) emit(doc.name) }' }
  }
}

beforeEach(async () => {
  name = databaseName('views')
  used.push(name)
  await nano.db.create(name)
  db = nano.use(name)
  await db.bulk({ docs: [...orders, ...customers, design] })
})

async function fails (promise, status, reason) {
  await assert.rejects(promise, error => {
    assert.equal(error.statusCode ?? error.status, status)
    if (reason) assert.equal(error.reason, reason)
    return true
  })
}

describe('nano', () => {
  it('reads ranges', async () => {
    const all = await db.view('shop', 'byCustomer')
    assert.equal(all.total_rows, 60)
    assert.equal(all.rows.length, 60)
    const some = await db.view('shop', 'byCustomer', { startkey: ['c1', 10], endkey: ['c1', {}], limit: 3 })
    assert.deepEqual(some.rows.map(row => row.key), [['c1', 10], ['c1', 13], ['c1', 16]])
    assert.equal(some.offset, 23)
    const back = await db.view('shop', 'byCustomer', { endkey: ['c1', 10], startkey: ['c1', {}], descending: true, skip: 1, limit: 2 })
    assert.deepEqual(back.rows.map(row => row.id), ['o55', 'o52'])
    const keys = await db.view('shop', 'byCustomer', { keys: [['c2', 5], ['c0', 0], ['c9', 0]] })
    assert.deepEqual(keys.rows.map(row => row.id), ['o05', 'o00'])
    const names = await db.view('shop', 'names')
    assert.deepEqual(names.rows.map(row => row.key), ['Ärger', 'zebra', 'Zoë'])
  })

  it('reads documents, linked ones too', async () => {
    const { rows } = await db.view('shop', 'byCustomer', { key: ['c1', 7], include_docs: true })
    assert.equal(rows.length, 1)
    assert.equal(rows[0].doc.name, 'Ärger')
    const own = await db.view('shop', 'names', { include_docs: true })
    assert.deepEqual(own.rows.map(row => row.doc._id), ['c1', 'c2', 'c0'])
  })

  it('reduces', async () => {
    const whole = await db.view('shop', 'totals')
    assert.deepEqual(whole.rows, [{ key: null, value: { sum: 1770, count: 60, min: 0, max: 59, sumsqr: 70210 } }])
    const months = await db.view('shop', 'totals', { group_level: 2 })
    assert.deepEqual(months.rows.map(row => [row.key, row.value.count]), [1, 2, 3, 4].map(month => [[2026, month], 15]))
    const groups = await db.view('shop', 'most', { group: true })
    assert.deepEqual(groups.rows, [{ key: 'c0', value: 57 }, { key: 'c1', value: 58 }, { key: 'c2', value: 59 }])
    const rows = await db.view('shop', 'most', { reduce: false, key: 'c2', limit: 1 })
    assert.deepEqual(rows.rows, [{ id: 'o02', key: 'c2', value: 2 }])
  })

  it('follows writes', async () => {
    const before = await db.view('shop', 'most', { group: true, key: 'c1' })
    assert.equal(before.rows[0].value, 58)
    const order = await db.get('o58')
    await db.insert({ ...order, total: 1000 })
    await db.destroy('o55', (await db.head('o55')).etag.replaceAll('"', ''))
    assert.equal((await db.view('shop', 'most', { group: true, key: 'c1' })).rows[0].value, 1000)
    assert.equal((await db.view('shop', 'most')).rows[0].value, 1000)
    assert.equal((await db.view('shop', 'totals')).rows[0].value.count, 59)
    const ddoc = await db.get('_design/shop')
    ddoc.views.names.map = 'function (doc) { if (doc.name) emit(doc.name.length, doc.name) }'
    await db.insert(ddoc)
    assert.deepEqual((await db.view('shop', 'names')).rows.map(row => row.key), [3, 5, 5])
  })

  it('streams and asks several things at once', async () => {
    const stream = JSON.parse(await text(db.viewAsStream('shop', 'names')))
    assert.equal(stream.rows.length, 3)
    const { results } = await nano.request({
      db: name, method: 'POST', path: '_design/shop/_view/byCustomer/queries', body: { queries: [{ limit: 1 }, { key: ['c2', 2] }] }
    })
    assert.deepEqual(results.map(result => result.rows.map(row => row.id)), [['o00'], ['o02']])
  })

  it('knows the errors', async () => {
    await fails(db.view('shop', 'none'), 404, 'missing_named_view')
    await fails(db.view('none', 'none'), 404, 'missing')
    await fails(db.view('shop', 'names', { group: true }), 400, 'Invalid use of grouping on a map view.')
    await fails(db.view('shop', 'names', { startkey: 'b', endkey: 'a' }), 400)
    await fails(db.insert({ views: { v: { map: 'function (' } } }, '_design/bad'), 400)
    const info = await nano.request({ db: name, path: '_design/shop/_info' })
    assert.equal(info.name, 'shop')
    assert.equal(info.view_index.language, 'javascript')
    assert.deepEqual(await nano.request({ db: name, method: 'POST', path: '_compact/shop', body: {} }), { ok: true })
    assert.deepEqual(await nano.request({ db: name, method: 'POST', path: '_view_cleanup', body: {} }), { ok: true })
  })
})

describe('PouchDB', () => {
  const remote = () => new PouchDB(`${server.url}/${name}`)

  it('queries views', async () => {
    const { rows, total_rows: total } = await remote().query('shop/byCustomer', { startkey: ['c0', 50], endkey: ['c0', {}] })
    assert.deepEqual(rows.map(row => row.id), ['o51', 'o54', 'o57'])
    assert.equal(total, 60)
    const months = await remote().query('shop/totals', { group: true, group_level: 2 })
    assert.deepEqual(months.rows.map(row => row.value.count), [15, 15, 15, 15])
    const keys = await remote().query('shop/names', { keys: ['zebra', 'nobody', 'Zoë'], include_docs: true })
    assert.deepEqual(keys.rows.map(row => row.doc._id), ['c2', 'c0'])
    await fails(remote().query('shop/none'), 404, 'missing_named_view')
  })

  it('answers as PouchDB does itself, but for the order of words', async () => {
    const local = new PouchDB(name, { adapter: 'leveldb', prefix: `${process.env.TMPDIR ?? '/tmp'}/` })
    try {
      await local.replicate.from(remote())
      const options = [
        ['byCustomer', { descending: true, limit: 7, skip: 3 }], ['byCustomer', { key: ['c1', 4] }],
        ['totals', {}], ['totals', { group_level: 2 }], ['totals', { group: true, skip: 2, limit: 4 }], ['totals', { reduce: false, limit: 5 }],
        ['most', { group: true }], ['byCustomer', { startkey: ['c1'], inclusive_end: false, endkey: ['c1', 7], include_docs: true }]
      ]
      for (const [view, option] of options) {
        const [here, there] = await Promise.all([local, remote()].map(each => each.query(`shop/${view}`, option)))
        assert.deepEqual(there.rows, here.rows, `${view} ${JSON.stringify(option)}`)
      }
    } finally {
      await local.destroy()
    }
  })

  it('cleans up', async () => {
    assert.deepEqual(await remote().viewCleanup(), { ok: true })
  })
})
