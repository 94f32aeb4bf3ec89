// PouchDB's clients of one database with access for each document: each has what is meant for its user, and no more.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import PouchDB from 'pouchdb'

import { send, startServer, until } from '../lib/server.js'

let server, dir

before(async () => {
  server = await startServer({ mirrored: false }) // no CouchDB has it
  dir = await mkdtemp(join(tmpdir(), 'settee-access-'))
})

after(async () => {
  await server?.stop()
  await rm(dir, { recursive: true, force: true })
})

// A client of a user, in live sync; denied has the ids of what the server refused.
async function client (name, roles = []) {
  await send(server, 'PUT', `/_users/org.couchdb.user:${name}`, { name, password: 'apple', type: 'user', roles })
  const local = new PouchDB(join(dir, name))
  const remote = new PouchDB(`${new URL(server.url).origin}/notes`, {
    skip_setup: true, auth: { username: name, password: 'apple' }
  })
  const denied = []
  const failures = []
  let sync
  const resume = () => {
    sync = local.sync(remote, { live: true, retry: true })
    sync.on('denied', row => denied.push(row.doc.id)).on('error', error => failures.push(error))
  }
  const pause = async () => {
    sync.cancel()
    await until('the replication has ended', () => sync.canceled)
  }
  resume()
  const ids = async () => (await local.allDocs()).rows.map(row => row.id)
  const close = async () => {
    await pause()
    assert.deepEqual(failures, [])
    await local.destroy()
  }
  return { local, remote, denied, ids, pause, resume, close }
}

const comes = (who, ...ids) => async () => JSON.stringify(await who.ids()) === JSON.stringify(ids)

const skip = process.env.COUCHDB_URL && 'CouchDB has no access for each document'

test('clients of one database have what is meant for their users', { skip }, async () => {
  await send(server, 'PUT', '/notes?access=true')
  await send(server, 'PUT', '/notes/_security', { members: { roles: ['_users'] } })
  await send(server, 'PUT', '/notes/_access', { share: 'any' })
  const ann = await client('ann', ['sales'])
  const bob = await client('bob')

  await ann.local.put({ _id: 'a1', _access: ['ann'], text: 'mine' })
  await bob.local.put({ _id: 'b1', _access: ['bob'], text: 'mine' })
  await send(server, 'PUT', '/notes/s1', { _access: ['role:sales'], text: 'for the team' })
  await send(server, 'PUT', '/notes/hidden', { text: 'for administrators' })
  await until('ann has hers', comes(ann, 'a1', 's1'))
  await until('the server has both', async () => (await send(server, 'GET', '/notes')).doc_count === 4)
  assert.deepEqual(await bob.ids(), ['b1'])

  // ann shares a document, and both change it
  const shared = await ann.local.get('a1')
  await ann.local.put({ ...shared, _access: ['ann', 'bob'] })
  await until('bob has it', comes(bob, 'a1', 'b1'))
  await bob.local.put({ ...await bob.local.get('a1'), text: 'ours' })
  await until('ann sees his change', async () => (await ann.local.get('a1')).text === 'ours')

  // what is not allowed is refused, and the rest goes on
  await bob.local.put({ _id: 'forged', _access: ['ann'] })
  await bob.local.put({ _id: 'hidden', _access: ['bob'] })
  await bob.local.put({ _id: 'b2', _access: ['bob'] })
  await until('two are refused', () => bob.denied.length === 2)
  assert.deepEqual(bob.denied.toSorted(), ['forged', 'hidden'])
  await until('the third is on the server', () => bob.remote.get('b2').then(() => true, () => false))
  assert.equal((await send(server, 'GET', '/notes/hidden')).text, 'for administrators')
  assert.deepEqual(await ann.ids(), ['a1', 's1'])

  // a deletion without a list reaches whoever saw the document
  await ann.local.remove(await ann.local.get('a1'))
  await until('it is gone for bob', async () => !(await bob.ids()).includes('a1'))

  // who may see a document no more has it no more
  const revoke = async names =>
    await send(server, 'PUT', '/notes/b1', { ...await send(server, 'GET', '/notes/b1'), _access: names })
  await revoke(['ann'])
  await until('ann has it', comes(ann, 'b1', 's1'))
  await until('it has left the database of bob', async () => !(await bob.ids()).includes('b1'))
  await assert.rejects(bob.remote.get('b1'), { status: 404 })
  assert.equal((await send(server, 'GET', '/notes/b1'))._deleted, undefined)

  // granted again it is back, with what the others wrote meanwhile, and both change it
  await ann.local.put({ ...await ann.local.get('b1'), text: 'written meanwhile' })
  await until('it is on the server', async () => (await send(server, 'GET', '/notes/b1')).text === 'written meanwhile')
  await revoke(['ann', 'bob'])
  await until('it is back', async () => (await bob.ids()).includes('b1'))
  assert.equal((await bob.local.get('b1')).text, 'written meanwhile')
  await bob.local.put({ ...await bob.local.get('b1'), text: 'ours again' })
  await until('ann sees his change', async () => (await ann.local.get('b1')).text === 'ours again')

  // what is written offline while the document is taken away is refused, and does not change it
  await bob.pause()
  await revoke(['ann'])
  await bob.local.put({ ...await bob.local.get('b1'), text: 'still mine?' })
  bob.resume()
  await until('his change is refused', () => bob.denied.includes('b1'))
  assert.equal((await send(server, 'GET', '/notes/b1')).text, 'ours again')
  await Promise.all([ann.close(), bob.close()])
})

test('many documents leave and come back, whatever the batches', { skip }, async () => {
  const carl = await client('carl')
  const docs = []
  for (let n = 0; n < 250; n++) docs.push({ _id: `m${1000 + n}`, _access: ['carl'] })
  const write = async (all, names) => {
    const rows = await send(server, 'POST', '/notes/_bulk_docs', { docs: all.map(doc => ({ ...doc, _access: names })) })
    return all.map((doc, i) => ({ ...doc, _rev: rows[i].rev }))
  }
  const had = await write(docs, ['carl'])
  await until('carl has all', async () => (await carl.ids()).length === 250)
  const taken = await write(had, [])
  await until('carl has none', async () => (await carl.ids()).length === 0)
  await write(taken.slice(0, 120), ['carl'])
  await until('carl has some again', async () => (await carl.ids()).length === 120)
  assert.equal((await send(server, 'GET', '/notes/m1200')).error, undefined)
  await carl.close()
})
