// PouchDB's live two-way replication of 1,000 documents with conflicts, deletions and attachments, through crashes of the
// server, verified by content.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import PouchDB from 'pouchdb'

import { leafNames, leaves } from '../lib/compare.js'
import { databaseName, startServer } from '../lib/server.js'

const DOCS = 1000
const CONFLICTS = 50
const DELETED = 50 // on each side
const EVERY_NTH_HAS_ATTACHMENTS = 10

let server, dir

before(async () => {
  server = await startServer()
  dir = await mkdtemp(join(tmpdir(), 'settee-pouch-'))
})

after(async () => {
  await server?.stop()
  await rm(dir, { recursive: true, force: true })
})

function open () {
  const name = databaseName('sync')
  return {
    local: new PouchDB(join(dir, name)),
    remote: patient(new PouchDB(`${server.url}/${name}`))
  }
}

// A replicator asks its source's info() after each batch, for its list of tasks only, and does not catch a failure
// (PouchDB's finishBatch): with the server gone that would be an unhandled rejection. So info() waits for the server.
function patient (remote) {
  const info = remote.info.bind(remote)
  remote.info = async () => {
    for (;;) {
      try {
        return await info()
      } catch (error) {
        if (!['ECONNREFUSED', 'ECONNRESET'].includes(error.code)) throw error
        await sleep(100)
      }
    }
  }
  return remote
}

function makeDocument (i, side) {
  const doc = { _id: `doc-${String(i).padStart(4, '0')}`, side, i, nested: { list: [i, `${i}`, null, true], text: 'ä€😀'.repeat(i % 7) } }
  if (i % EVERY_NTH_HAS_ATTACHMENTS === 0) {
    doc._attachments = {
      'text.txt': { content_type: 'text/plain', data: Buffer.from(`text of ${i} `.repeat(i)).toString('base64') },
      'data.bin': { content_type: 'application/octet-stream', data: Buffer.from(Uint8Array.from({ length: 50 * i }, (_, k) => k * i)).toString('base64') }
    }
  }
  return doc
}

async function store (db, docs) {
  for (const result of await db.bulkDocs(docs)) assert.ok(result.ok, JSON.stringify(result))
}

// Edits documents that both sides have, differently.
async function editBothSides ({ local, remote }) {
  for (const [db, side] of [[local, 'local'], [remote, 'remote']]) {
    const { rows } = await db.allDocs({ include_docs: true, startkey: 'conflict-' , endkey: 'conflict-\uffff' })
    assert.equal(rows.length, CONFLICTS)
    await store(db, rows.map(({ doc }) => ({ ...doc, edited: side })))
  }
}

// Waits until both sides have the same leaves.
async function converge ({ local, remote }, seconds = 120) {
  for (const deadline = Date.now() + seconds * 1000; ; await sleep(300)) {
    const [a, b] = await Promise.all([leafNames(local), leafNames(remote).catch(() => new Set())])
    if (a.size === b.size && [...a].every(name => b.has(name))) return
    assert.ok(Date.now() < deadline, `no convergence: ${a.size} leaves here, ${b.size} there`)
  }
}

function liveSync ({ local, remote }) {
  const sync = local.sync(remote, { live: true, retry: true, batch_size: 50, back_off_function: () => 200 })
  sync.denied = []
  sync.on('denied', error => sync.denied.push(error))
  const ended = new Promise((resolve, reject) => sync.on('complete', resolve).on('error', reject))
  sync.end = async () => { sync.cancel(); await ended }
  return sync
}

// Interrupts the sync, does work meanwhile, and lets it go on: the server crashes and comes back; one that cannot be
// killed loses its client instead.
async function interrupt (sides, work) {
  if (!server.killable) await sides.sync.end()
  else await server.kill()
  await work()
  if (!server.killable) {
    sides.sync = liveSync(sides)
    return
  }
  await sleep(500)
  await server.restart()
}

test('live sync through crashes of the server', async () => {
  const sides = open()
  const { local, remote } = sides

  await store(local, Array.from({ length: CONFLICTS }, (_, i) => ({ _id: `conflict-${i}`, edited: 'no' })))
  await local.replicate.to(remote)
  await editBothSides(sides)

  await store(local, Array.from({ length: DOCS / 2 }, (_, i) => makeDocument(2 * i, 'local')))
  await store(remote, Array.from({ length: DOCS / 2 }, (_, i) => makeDocument(2 * i + 1, 'remote')))

  sides.sync = liveSync(sides)
  // the first crash: while it is busy
  await new Promise(resolve => sides.sync.once('change', resolve))
  await interrupt(sides, async () => {
    const { rows } = await local.allDocs({ startkey: 'doc-', limit: DELETED, include_docs: true })
    await store(local, rows.map(({ doc }) => ({ _id: doc._id, _rev: doc._rev, _deleted: true, why: 'gone here' })))
  })
  await converge(sides)

  // the second: while it waits for changes; afterwards both sides go on
  await interrupt(sides, () => store(local, [{ _id: 'written-while-down' }]))
  const { rows } = await remote.allDocs({ startkey: 'doc-0500', limit: DELETED })
  await store(remote, rows.map(({ id, value }) => ({ _id: id, _rev: value.rev, _deleted: true })))
  await converge(sides)
  await sides.sync.end()
  assert.deepEqual(sides.sync.denied, [])

  // contents: every leaf with its history, body and attachments
  const [here, there] = await Promise.all([leaves(local), leaves(remote)])
  assert.equal(here.size, there.size)
  for (const [name, leaf] of here) assert.deepEqual(there.get(name), leaf, name)

  const info = await remote.info()
  assert.equal(info.doc_count, DOCS + CONFLICTS + 1 - 2 * DELETED)
  assert.equal(info.doc_count, (await local.info()).doc_count)
  for (let i = 0; i < CONFLICTS; i++) {
    const [a, b] = await Promise.all([local, remote].map(db => db.get(`conflict-${i}`, { conflicts: true })))
    assert.deepEqual(b, a)
    assert.equal(a._conflicts.length, 1)
    const loser = await remote.get(a._id, { rev: a._conflicts[0] })
    assert.deepEqual(new Set([a.edited, loser.edited]), new Set(['local', 'remote']))
  }
  let attachments = 0
  for (let i = 0; i < DOCS; i += EVERY_NTH_HAS_ATTACHMENTS) {
    const wanted = makeDocument(i, 'local')
    const doc = await remote.get(wanted._id, { attachments: true }).catch(error => error)
    if (doc.status === 404) {
      assert.equal(doc.reason, 'deleted')
      continue
    }
    for (const [name, { data }] of Object.entries(wanted._attachments)) {
      assert.equal(doc._attachments[name].data, data, `${doc._id}/${name}`)
      attachments++
    }
  }
  assert.ok(attachments > 100)
  await remote.destroy()
  await local.destroy()
})

test('a replication goes on where it ended', async () => {
  const { local, remote } = open()
  await store(remote, Array.from({ length: 300 }, (_, i) => ({ _id: `r${i}` })))
  const first = await local.sync(remote)
  assert.equal(first.pull.docs_written, 300)
  if (server.killable) {
    await server.kill()
    await server.restart()
  }
  const idle = await local.sync(remote)
  assert.equal(idle.pull.docs_read, 0)
  assert.equal(idle.push.docs_read, 0)
  await store(remote, Array.from({ length: 7 }, (_, i) => ({ _id: `more${i}` })))
  await store(local, Array.from({ length: 5 }, (_, i) => ({ _id: `ours${i}` })))
  const next = await local.sync(remote)
  assert.equal(next.pull.docs_written, 7)
  assert.equal(next.push.docs_written, 5)
  assert.equal((await remote.info()).doc_count, 312)
  await remote.destroy()
  await local.destroy()
})

test('a checkpoint of an interrupted pull is used', async () => {
  const { local, remote } = open()
  await store(remote, Array.from({ length: 400 }, (_, i) => ({ _id: `d${i}`, text: 'x'.repeat(500) })))
  const pull = local.replicate.from(remote, { batch_size: 20 })
  const read = await new Promise((resolve, reject) => {
    pull.on('error', reject)
    pull.on('complete', info => resolve(info.docs_read))
    pull.on('change', info => { if (info.docs_read >= 100) pull.cancel() })
  })
  assert.ok(read >= 100 && read < 400, `${read} read before the interruption`)
  const rest = await local.replicate.from(remote, { batch_size: 20 })
  assert.ok(rest.docs_read <= 400 - 100 + 20, `${rest.docs_read} read afterwards`)
  assert.equal((await local.info()).doc_count, 400)
  await remote.destroy()
  await local.destroy()
})
