// Fauxton, CouchDB's web interface, in Chromium: log in, databases, documents, attachments, views, Mango, replication,
// permissions, configuration.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { api, base, errors, open, page, picture, setCode, settled, until } from './fauxton.js'

const NAME = 'tour'

// Writes a text into the document editor, in place of what is there, and saves it.
async function saveDocument (text) {
  await setCode(text)
  await page.click('.save-doc')
  await settled()
}

async function openDocument (id) {
  await open(`/database/${NAME}/${id}`)
  await page.waitForFunction(id => globalThis.document.querySelector('.ace_editor')?.env?.editor.getValue().includes(`"${id}"`), id)
}

test('create a database', async () => {
  await page.click('.add-new-database-btn')
  await page.fill('#js-new-database-name', NAME)
  await page.click('#non-partitioned-db')
  await page.click('#js-create-database')
  await page.waitForFunction(name => globalThis.location.hash.includes(`database/${name}/_all_docs`), NAME)
  assert.equal((await api(`/${NAME}`)).db_name, NAME)
})

test('create and edit a document', async () => {
  await open(`/database/${NAME}/_new`)
  await page.waitForSelector('.ace_editor')
  await saveDocument('{"_id": "first", "value": 1}')
  await until(`/${NAME}/first`, doc => doc.value === 1)
  await openDocument('first')
  const doc = await api(`/${NAME}/first`)
  await saveDocument(JSON.stringify({ ...doc, value: 2 }, null, 2))
  await until(`/${NAME}/first`, doc => doc.value === 2)
  await openDocument('first')
  await picture('document')
})

test('upload an attachment', async () => {
  await openDocument('first')
  await page.click('.panel-button.upload')
  await page.setInputFiles('input[name="_attachments"]', { name: 'hello.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') })
  await page.click('#upload-btn')
  const doc = await until(`/${NAME}/first`, doc => doc._attachments)
  assert.equal(doc._attachments['hello.txt'].length, 5)
  await settled()
})

test('delete a document', async () => {
  await api(`/${NAME}/second`, { method: 'PUT', body: '{}' })
  await openDocument('second')
  await page.click('button[title="Delete"]')
  await page.click('.modal-dialog .btn-primary')
  await until(`/${NAME}/second`, doc => doc.reason === 'deleted')
  await settled()
  await open(`/database/${NAME}/_all_docs`)
  await page.waitForSelector('text=first')
  await picture('documents')
})

test('make and read a view', async () => {
  await api(`/${NAME}/_bulk_docs`, { method: 'POST', body: JSON.stringify({ docs: [{ _id: 'apple', n: 3 }, { _id: 'pear', n: 4 }] }) })
  await open(`/database/${NAME}/new_view`)
  await page.fill('#new-ddoc', 'fruit')
  await page.fill('#index-name', 'by-n')
  await page.waitForSelector('#map-function .ace_editor, .ace_editor')
  await setCode('function (doc) { if (doc.n) emit(doc.n, doc._id) }')
  await page.click('#save-view')
  await until(`/${NAME}/_design/fruit/_view/by-n?reduce=false`, view => view.total_rows === 2)
  await open(`/database/${NAME}/_design/fruit/_view/by-n?reduce=false`)
  await page.waitForSelector('text=pear')
  await picture('view')
  await settled()
})

test('run a Mango query', async () => {
  await open(`/database/${NAME}/_find`)
  await page.waitForSelector('.ace_editor')
  await setCode('{"selector": {"n": {"$gt": 3}}}')
  await page.click('text=Run Query')
  await page.waitForSelector('text=pear')
  await picture('find')
  await settled()
  await open(`/database/${NAME}/_index`)
  await page.waitForSelector('text=Create index')
  await page.click('text=Create index')
  await until(`/${NAME}/_index`, list => list.total_rows === 2)
  await settled()
})

test('replicate', async () => {
  await open('replication/_create')
  await page.waitForSelector('text=Source')
  await settled()
  await picture('replication-form')
  await api('/_replicator/tour', { method: 'PUT', body: JSON.stringify({ source: `${base.replace('//', '//admin:password@')}/${NAME}`, target: `${base.replace('//', '//admin:password@')}/copy`, create_target: true }) })
  await until('/copy', db => db.doc_count > 3)
  await open('replication')
  await page.waitForSelector('text=/copy')
  await settled()
  await picture('replication')
})

test('cancel a replication', async () => {
  const url = base.replace('//', '//admin:password@')
  await api('/_replicator/live', { method: 'PUT', body: JSON.stringify({ source: `${url}/${NAME}`, target: `${url}/copy`, continuous: true }) })
  await until('/_scheduler/docs/_replicator/live', doc => doc.state === 'running')
  await open('replication')
  const row = page.locator('tr', { hasText: 'Continuous' })
  await row.waitFor()
  await settled()
  await row.locator('[title*="Delete"], .fonticon-trash, button:has(.fonticon-trash), a:has(.fonticon-trash)').first().click()
  await page.locator('.modal-dialog button', { hasText: /delete/i }).first().click()
  await until('/_replicator/live', doc => doc.error === 'not_found')
  await until('/_scheduler/jobs', jobs => jobs.total_rows === 0)
  await settled()
})

test('verify the installation', async () => {
  const before = errors.length
  await open('verifyinstall')
  await page.click('button:has-text("Verify Installation")')
  await page.waitForSelector('text=Time to Relax', { timeout: 60_000 })
  await settled()
  await picture('verify')
  // it looks first whether its databases are left from an earlier time
  errors.push(...errors.splice(before).filter(e => !/404 GET .*verifytestdb|status of 404/.test(e)))
})

test('change permissions', async () => {
  await open(`/database/${NAME}/permissions`)
  await page.fill('input[placeholder="Username"] >> nth=1', 'anna')
  await page.click('button:has-text("Add User") >> nth=1')
  await settled()
  const security = await until(`/${NAME}/_security`, s => s.members?.names?.includes('anna'))
  assert.deepEqual(security.admins.roles, ['_admin'])
  await picture('permissions')
})

test('configuration and CORS', async () => {
  const { all_nodes: [node] } = await api('/_membership')
  await open(`_config/${node}`)
  await page.waitForSelector('text=The Apache Software Foundation')
  await picture('config')
  await open(`_config/${node}/cors`)
  await page.click('text=Enable CORS')
  await until('/_node/_local/_config/httpd/enable_cors', value => value === 'true')
})

test('databases, tasks and account', async () => {
  const { all_nodes: nodes } = await api('/_membership')
  const account = nodes.length > 1 ? 'running a cluster with' : 'Password' // where Fauxton does not change passwords
  for (const [where, text] of [['_all_dbs', NAME], ['activetasks', 'Active Tasks'], ['changePassword', account]]) {
    await open(where)
    await page.waitForSelector(`text=${text}`)
  }
  await open('_all_dbs')
  await page.waitForSelector(`text=${NAME}`)
  await picture('databases')
})

test('no error in the console', () => assert.deepEqual(errors, []))
