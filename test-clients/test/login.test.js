// Logins as browsers and their libraries do them: a cookie from POST /_session, then nothing but the cookie.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import Nano from 'nano'
import PouchDB from 'pouchdb'

import { databaseName, startServer } from '../lib/server.js'

const name = databaseName('login')
const user = databaseName('user')
let server, admin, anonymous

before(async () => {
  server = await startServer()
  admin = Nano(server.url)
  anonymous = server.url.replace(/\/\/.*@/, '//')
  await admin.use('_users').insert({ name: user, type: 'user', roles: ['staff'], password: 'secret' }, `org.couchdb.user:${user}`)
  await admin.db.create(name)
  await admin.request({ db: name, path: '_security', method: 'PUT', body: { admins: {}, members: { roles: ['staff'] } } })
})

after(async () => {
  await admin?.db.destroy(name).catch(() => {})
  const users = admin?.use('_users')
  const doc = await users?.get(`org.couchdb.user:${user}`).catch(() => null)
  if (doc) await users.destroy(doc._id, doc._rev)
  await server?.stop()
})

// The cookie of a new session, as a browser would send it.
async function login () {
  const answer = await fetch(`${anonymous}/_session`, {
    method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: `name=${user}&password=secret`
  })
  assert.equal(answer.status, 200)
  return answer.headers.get('set-cookie').split(';')[0]
}

describe('nano', () => {
  it('keeps a session in its cookie jar', async () => {
    const nano = Nano(anonymous)
    await assert.rejects(nano.use(name).insert({ a: 1 }, 'doc'), { statusCode: 401 })
    assert.deepEqual(await nano.auth(user, 'secret'), { ok: true, name: user, roles: ['staff'] })
    const { userCtx, info } = await nano.session()
    assert.deepEqual(userCtx, { name: user, roles: ['staff'] })
    assert.equal(info.authenticated, 'cookie')
    assert.equal((await nano.use(name).insert({ a: 1 }, 'doc')).ok, true)
    assert.equal((await nano.use(name).get('doc')).a, 1)
    await assert.rejects(nano.use(name).insert({ views: {} }, '_design/d'), { statusCode: 403 })
  })

  it('is told of a wrong password', async () => {
    await assert.rejects(Nano(anonymous).auth(user, 'wrong'), { statusCode: 401, reason: 'Name or password is incorrect.' })
  })
})

describe('PouchDB', () => {
  const remote = cookie => new PouchDB(`${anonymous}/${name}`, {
    skip_setup: true,
    fetch: (url, options) => {
      options.headers.set('Cookie', cookie)
      return PouchDB.fetch(url, options)
    }
  })

  it('replicates with skip_setup and a cookie', async () => {
    const db = remote(await login())
    const local = new PouchDB(databaseName('local'), { adapter: 'leveldb', prefix: `${server.dir ?? '/tmp'}/` })
    await local.put({ _id: 'from-pouch', b: 2 })
    const result = await local.sync(db)
    assert.equal(result.push.docs_written, 1)
    assert.equal((await admin.use(name).get('from-pouch')).b, 2)
    await local.destroy()
  })

  it('is refused without one', async () => {
    await assert.rejects(remote('').get('doc'), { status: 401 })
  })
})
