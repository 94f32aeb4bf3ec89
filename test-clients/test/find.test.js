// Mango through nano and through PouchDB's find plugin over HTTP, verified by content.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import Nano from 'nano'
import PouchDB from 'pouchdb'
import PouchFind from 'pouchdb-find'

import { databaseName, startServer } from '../lib/server.js'

PouchDB.plugin(PouchFind)

let server, nano, name
const used = []

before(async () => {
  server = await startServer()
  nano = Nano(server.url)
})

after(async () => {
  for (const each of used) await nano.db.destroy(each).catch(() => {})
  await server?.stop()
})

const heroes = [
  ['falcon', 'Captain Falcon', 4, 'Mute City'], ['fox', 'Fox', 3, 'Corneria'], ['kirby', 'Kirby', 2, 'Popstar'], ['link', 'Link', 10, 'Hyrule'],
  ['luigi', 'Luigi', 11, 'Mushroom Kingdom'], ['mario', 'Mario', 5, 'Mushroom Kingdom'], ['ness', 'Ness', 9, 'Onett'], ['yoshi', 'Yoshi', 6, 'Island']
].map(([_id, name, rank, city]) => ({ _id, name, rank, home: { city }, debut: 1980 + rank }))

beforeEach(async () => {
  name = databaseName('find')
  used.push(name)
  await nano.db.create(name)
  await nano.use(name).bulk({ docs: heroes })
})

const ids = answer => answer.docs.map(doc => doc._id).join(' ')

describe('PouchDB find', () => {
  let db
  beforeEach(() => { db = new PouchDB(`${server.url}/${name}`, { skip_setup: true }) })

  it('creates, lists and deletes indexes', async () => {
    const created = await db.createIndex({ index: { fields: ['rank'], name: 'by-rank', ddoc: 'ranks' } })
    assert.deepEqual([created.result, created.id, created.name], ['created', '_design/ranks', 'by-rank'])
    assert.equal((await db.createIndex({ index: { fields: ['rank'], name: 'by-rank', ddoc: 'ranks' } })).result, 'exists')
    const { indexes, total_rows: total } = await db.getIndexes()
    assert.equal(total, 2)
    assert.deepEqual(indexes.map(({ ddoc, name, type, def }) => ({ ddoc, name, type, def })), [
      { ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } },
      { ddoc: '_design/ranks', name: 'by-rank', type: 'json', def: { fields: [{ rank: 'asc' }] } }
    ])
    await db.deleteIndex(indexes[1])
    assert.equal((await db.getIndexes()).total_rows, 1)
  })

  it('finds by an index, in its order', async () => {
    await db.createIndex({ index: { fields: ['rank'] } })
    assert.equal(ids(await db.find({ selector: { rank: { $gte: 5 } }, sort: ['rank'] })), 'mario yoshi ness link luigi')
    assert.equal(ids(await db.find({ selector: { rank: { $gte: 5, $lt: 10 } }, sort: [{ rank: 'desc' }], limit: 2 })), 'ness yoshi')
    const shown = await db.find({ selector: { rank: 4 }, fields: ['name', 'home.city'] })
    assert.deepEqual(shown.docs, [{ name: 'Captain Falcon', home: { city: 'Mute City' } }])
    assert.equal(shown.warning, undefined)
  })

  it('finds without an index, and says so', async () => {
    const answer = await db.find({ selector: { 'home.city': 'Mushroom Kingdom', $or: [{ rank: 5 }, { debut: { $gt: 1990 } }] } })
    assert.equal(ids(answer), 'luigi mario')
    assert.match(answer.warning, /No matching index found/)
    await assert.rejects(db.find({ selector: { rank: { $gt: 1 } }, sort: ['rank'] }), /No index exists for this sort/)
  })

  it('knows the operators', async () => {
    const cases = [
      [{ name: { $regex: '^L' } }, 'link luigi'], [{ rank: { $in: [2, 3] } }, 'fox kirby'], [{ rank: { $mod: [5, 0] } }, 'link mario'],
      [{ rank: { $not: { $gt: 3 } } }, 'fox kirby'], [{ name: { $exists: false } }, ''], [{ rank: { $type: 'number' }, _id: { $lt: 'g' } }, 'falcon fox'],
      [{ $nor: [{ rank: { $lt: 9 } }, { _id: 'ness' }] }, 'link luigi'], [{ name: { $beginsWith: 'Ma' } }, 'mario'], [{ home: { city: 'Onett' } }, 'ness']
    ]
    for (const [selector, want] of cases) assert.equal(ids(await db.find({ selector })), want, JSON.stringify(selector))
  })

  it('explains', async () => {
    await db.createIndex({ index: { fields: ['rank'], name: 'by-rank', ddoc: 'ranks' } })
    const plan = await db.explain({ selector: { rank: { $gt: 3 } }, fields: ['rank'] })
    assert.equal(plan.index.name, 'by-rank')
    assert.equal(plan.covering, true)
  })
})

describe('nano', () => {
  it('reads page by page with bookmarks', async () => {
    const db = nano.use(name)
    await db.createIndex({ index: { fields: ['rank'] }, ddoc: 'ranks', name: 'r', type: 'json' })
    const seen = []
    for (let bookmark; ;) {
      const page = await db.find({ selector: { rank: { $gt: 0 } }, limit: 3, bookmark, execution_stats: true })
      if (page.docs.length === 0) break
      assert.equal(page.execution_stats.results_returned, page.docs.length)
      seen.push(ids(page))
      bookmark = page.bookmark
    }
    assert.deepEqual(seen, ['kirby fox falcon', 'mario yoshi ness', 'link luigi'])
  })

  it('sees writes at once', async () => {
    const db = nano.use(name)
    await db.createIndex({ index: { fields: ['rank'] } })
    for (let rank = 100; rank < 110; rank++) {
      await db.insert({ rank }, `new${rank}`)
      assert.equal(ids(await db.find({ selector: { rank } })), `new${rank}`)
    }
  })

  it('finds in a partition', async () => {
    const other = databaseName('findp')
    used.push(other)
    await nano.db.create(other, { partitioned: true })
    const db = nano.use(other)
    await db.bulk({ docs: heroes.map(hero => ({ ...hero, _id: `p${hero.rank % 2}:${hero._id}` })) })
    assert.equal(ids(await db.partitionedFind('p1', { selector: { rank: { $gt: 4 } } })), 'p1:luigi p1:mario p1:ness')
  })
})
