// The console's page of users: make one, give it a role, let the role into a database, see it in the matrix.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accessible, api, base, browser, expect, noErrors, open, page, pictures, signIn, until, watched } from './console.js'

test('a user is made and gets a role', async () => {
  await api('/orders', { method: 'PUT' })
  await signIn()
  await page.getByRole('link', { name: 'Users and rights' }).click()
  await page.getByRole('row', { name: /admin/ }).getByText('administrator').waitFor()
  await page.getByRole('button', { name: 'Create user' }).click()
  await page.getByLabel('Name', { exact: true }).fill('ann')
  await page.getByLabel('Password').fill('a long one')
  await accessible()
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'ann' }).waitFor()
  await page.getByLabel('Roles').fill('sales, office')
  await page.getByRole('button', { name: 'Save' }).click()
  await until('/_users/org.couchdb.user:ann', doc => doc.roles?.join() === 'sales,office')
  await accessible()
  await pictures('console-users')
  noErrors()
})

test('a role is let into a database, and the matrix says so', async () => {
  await page.getByRole('tab', { name: 'Rights in a database' }).click()
  await page.getByLabel('Database', { exact: true }).fill('orders')
  await page.keyboard.press('Enter')
  await page.getByLabel('Members: roles').fill('sales')
  await accessible()
  await page.getByRole('button', { name: 'Save' }).click()
  await until('/orders/_security', security => security.members?.roles.join() === 'sales')
  await page.getByLabel('Members: roles').fill('')
  await page.getByText('Open: everybody who reaches the server').waitFor()
  await page.getByRole('tab', { name: 'Who may do what' }).click()
  const cell = page.getByTitle('ann in orders: reads and writes documents (by role sales)')
  assert.equal(await cell.textContent(), '● member')
  await accessible()
  await pictures('console-users-matrix')
  noErrors()
})

test('a member sees the pages of a member', async () => {
  expect(/401 GET .*_all_dbs|status of 401/) // the list of databases is for administrators
  const context = await browser.newContext()
  const other = await watched(context)
  await signIn('ann', 'a long one', other)
  await other.getByRole('heading', { name: 'Databases' }).waitFor()
  assert.equal(await other.getByRole('link', { name: 'Settings' }).count(), 0)
  assert.equal(await other.getByRole('button', { name: 'Create database' }).count(), 0)
  await other.getByLabel('Name of a database').fill('orders')
  await other.getByRole('button', { name: 'Open' }).click()
  await other.getByRole('heading', { name: 'orders' }).waitFor()
  // What was opened is completed from then on, in this browser.
  await other.getByRole('grid').waitFor()
  await other.keyboard.press('Control+k')
  await other.getByRole('combobox', { name: 'Command' }).fill('ord')
  await other.getByRole('option', { name: 'orders' }).waitFor()
  await other.keyboard.press('Escape')
  await other.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Databases' }).click()
  await other.locator('datalist option[value=orders]').waitFor({ state: 'attached' })
  await context.close()
  noErrors()
})

// Changes the password of who is signed in there, from one to another.
async function change (on, current, next, again = next) {
  await on.getByRole('button', { name: /Account and colours/ }).click()
  await on.getByRole('menuitem', { name: 'Change password' }).click()
  await on.getByLabel('Current password').fill(current)
  await on.getByLabel('New password', { exact: true }).fill(next)
  await on.getByLabel('New password again').fill(again)
  await on.getByRole('button', { name: 'Change password' }).click()
}

const session = async headers => await (await fetch(`${base}/_session`, { headers })).json()

test('an administrator and a user change their own passwords, and other sessions of them end', async () => {
  expect(/401 (GET|POST) |status of 401/) // what is asked while the session changes, too
  expect(/403 GET .*_users|status of 403/)
  for (const [name, from, to] of [['ann', 'a long one', 'a longer one'], ['boss', 'first', 'second']]) {
    if (name === 'boss') await api('/_node/_local/_config/admins/boss', { method: 'PUT', body: '"first"' })
    const context = await browser.newContext()
    const other = await watched(context)
    await signIn(name, from, other)
    const [cookie] = await context.cookies()
    const before = { cookie: `${cookie.name}=${cookie.value}` }
    assert.equal((await session(before)).userCtx.name, name)

    await change(other, from, to, 'something else')
    await other.getByRole('alert').getByText('The two new passwords differ.').waitFor()
    await other.getByRole('button', { name: 'Cancel' }).click()
    await change(other, 'wrong', to)
    await other.getByRole('alert').getByText('The current password is not this one.').waitFor()
    await other.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await session(before)).userCtx.name, name, 'a wrong password changes nothing')

    if (name === 'ann') { // members of _users alone reach their own document, as in CouchDB
      await change(other, from, to)
      await other.getByRole('alert').getByText('The database _users is for administrators alone here.').waitFor()
      await other.getByRole('button', { name: 'Cancel' }).click()
      await api('/_node/_local/_config/couchdb/users_db_security_editable', { method: 'PUT', body: '"true"' })
      await api('/_users/_security', { method: 'PUT', body: { admins: { roles: ['_admin'] }, members: { roles: ['sales'] } } })
    }
    await change(other, from, to)
    await other.getByText('Your password was changed.').waitFor()
    await other.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal((await session(before)).userCtx.name, null, 'the session of before has ended')
    const basic = password => fetch(`${base}/_session`, { headers: { authorization: 'Basic ' + btoa(`${name}:${password}`) } })
    assert.equal((await basic(from)).status, 401)
    assert.equal((await basic(to)).status, 200)
    // This browser goes on without signing in.
    await other.reload()
    await other.getByRole('navigation', { name: 'Pages' }).waitFor()
    await context.close()
  }
  assert.deepEqual((await api('/_users/org.couchdb.user:ann')).roles, ['sales', 'office'], 'roles stay')
  noErrors()
})

test('a password is changed, a user deleted', async () => {
  await open('users?chosen=ann')
  await page.getByLabel('New password').fill('another one')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('ann was saved.').waitFor()
  const answer = await fetch(`${base}/_session`, { headers: { authorization: `Basic ${btoa('ann:another one')}` } })
  assert.equal(answer.status, 200)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('ann was deleted.').waitFor()
  await until('/_users/org.couchdb.user:ann', doc => doc.reason === 'deleted')
  noErrors()
})
