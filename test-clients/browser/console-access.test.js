// A database with access for each document in the console: made, whom its documents are for and why, what a user sees.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accessible, api, base, browser, expect, noErrors, open, page, pictures, signIn, until, watched } from './console.js'

const put = (path, body) => api(path, { method: 'PUT', body })
const part = name => page.getByRole('tab', { name, exact: true })
const leaf = rev => page.getByRole('region', { name: new RegExp(`^Revision ${rev}`) })

test('a database with access for each document is made, and users are let share', async () => {
  for (const [name, roles] of [['ann', ['sales']], ['bob', []]]) {
    await put(`/_users/org.couchdb.user:${name}`, { name, roles, type: 'user', password: 'a long one' })
  }
  await signIn()
  await open('databases')
  await page.getByRole('button', { name: 'Create database' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('notes')
  await page.getByLabel(/^Access for each document/).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'notes' }).waitFor()
  assert.deepEqual((await api('/notes')).props, { access: true })
  await put('/notes/_security', { members: { roles: ['_users'] } })
  await part('About').click()
  await page.getByText('for each document', { exact: true }).waitFor()
  await page.getByLabel('Who says for whom a document is').selectOption('any')
  await page.getByText('Users share their documents with anybody.').waitFor()
  assert.deepEqual(await api('/notes/_access'), { share: 'any' })
  await page.getByLabel('Who says for whom a document is').selectOption('self')
  await until('/notes/_access', answer => answer.share === 'self')
  noErrors()
})

test('each leaf of a document says whom it is for, and why', async () => {
  const docs = [
    { _id: 'both', _rev: '1-a', _access: ['ann'] }, { _id: 'both', _rev: '1-b', _access: ['role:sales', '_users'] },
    { _id: 'secret', _rev: '1-c' }, { _id: 'gone', _rev: '1-d', _access: ['ann'] }
  ]
  await api('/notes/_bulk_docs', { method: 'POST', body: { docs, new_edits: false } })
  await api('/notes/gone?rev=1-d', { method: 'DELETE' })
  await open('databases/notes?doc=both')
  await part('Access').click()
  await leaf('1-a').getByRole('heading', { name: 'user ann' }).waitFor()
  await leaf('1-b').getByRole('heading', { name: 'everybody who has signed in, role sales' }).waitFor()
  await leaf('1-b').getByText('by its member _access').waitFor()
  await accessible()
  await pictures('console-access')
  await open('databases/notes?doc=secret&show=access')
  await leaf('1-c').getByRole('heading', { name: 'administrators alone' }).waitFor()
  await open('databases/notes?part=deleted&gone=gone')
  await leaf('2-').getByRole('heading', { name: 'user ann' }).waitFor()
  await leaf('2-').getByText('keeps that of what it deletes').waitFor()
  noErrors()
})

test('what a user sees is listed, by the roles that the user has or would have', async () => {
  for (let i = 0; i < 250; i++) await put(`/notes/sale${String(i).padStart(3, '0')}`, { _access: ['role:sales'] })
  await open('databases/notes?part=about')
  const show = async (name, roles, says) => {
    await page.getByLabel('User', { exact: true }).fill(name)
    await page.getByLabel('Roles', { exact: true }).fill(roles)
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText(says, { exact: true }).waitFor()
  }
  await show('bob', '', '1 document as bob')
  const grid = page.getByRole('grid', { name: 'Documents of bob' })
  await grid.getByRole('link', { name: 'both' }).waitFor()
  await show('bob', 'sales', '251 documents as bob with sales')
  await show('ann', '', '251 documents as ann with sales')
  await accessible()
  await page.getByRole('grid', { name: 'Documents of ann' }).getByRole('link', { name: 'both' }).click()
  await leaf('1-a').waitFor()
  noErrors()
})

test('a user reads and writes own documents, and is offered nothing of others', async () => {
  expect(/403 GET .*notes\/_security|status of 403/) // it names others
  expect(/401 GET .*_all_dbs|status of 401/) // the list of databases is for administrators
  const context = await browser.newContext()
  const other = await watched(context)
  await signIn('bob', 'a long one', other)
  await other.goto(`${base}/_console/databases/notes`)
  const grid = other.getByRole('grid', { name: 'Documents' })
  await grid.getByRole('row', { name: 'both' }).click()
  await other.getByRole('tab', { name: 'Raw' }).waitFor()
  assert.equal(await grid.getByRole('row', { name: 'secret' }).count(), 0)
  assert.equal(await other.getByRole('tab', { name: 'Access', exact: true }).count(), 0)
  await other.goto(`${base}/_console/databases/notes?part=about`)
  await other.getByText('for each document', { exact: true }).waitFor()
  assert.equal(await other.getByRole('button', { name: 'Show' }).count(), 0)
  await context.close()
  noErrors()
})
