// Forms of the console whose values come anew after each save: what is typed while a save is under way stays, is unsaved,
// and is saved by the next one; everything else is as the server keeps it, not as it was typed.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { api, noErrors, open, page, setCode, signIn, until } from './console.js'

const API = '/_eventing/api/v1'
const put = (path, body) => api(path, { method: 'PUT', body })
const button = name => page.getByRole('button', { name, exact: true })
const code = label => page.getByRole('textbox', { name: label })

/** Waits until a field has this value. */
async function shows (field, value) {
  for (const end = Date.now() + 60_000; await field.inputValue() !== value;) {
    assert.ok(Date.now() < end, `${await field.inputValue()}, not ${value}`)
    await page.waitForTimeout(50)
  }
}

/** Saves; before the server is asked, types; and returns when the page has what the server has after it. */
async function typeWhileSaved ({ saved, read, save, type }) {
  let go
  const typed = new Promise(resolve => { go = resolve })
  const hold = async route => {
    if (route.request().method() !== 'GET') await typed
    await route.continue()
  }
  await page.route(saved, hold)
  const asked = page.waitForRequest(request => saved.test(request.url()) && request.method() !== 'GET')
  await save()
  await asked
  await type()
  const again = page.waitForResponse(answer => read.test(answer.url()) && answer.request().method() === 'GET')
  go()
  await (await again).finished()
  await page.unrouteAll({ behavior: 'wait' })
  await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))))
}

test('rights in a database', async () => {
  await put('/orders')
  await signIn()
  await open('users?tab=rights&db=orders')
  await page.getByRole('tab', { name: 'Rights in a database' }).click()
  const names = page.getByLabel('Members: names')
  const roles = page.getByLabel('Members: roles')
  await names.fill('ann,,bea ')
  await roles.fill('sales')
  await typeWhileSaved({
    saved: /orders\/_security/, read: /orders\/_security/, save: () => button('Save').click(), type: () => roles.fill('sales, office')
  })
  await shows(names, 'ann, bea')
  assert.equal(await roles.inputValue(), 'sales, office')
  await button('Save').click()
  const { members } = await until('/orders/_security', security => security.members?.roles.length === 2)
  assert.deepEqual(members, { names: ['ann', 'bea'], roles: ['sales', 'office'] })
  noErrors()
})

test('a user', async () => {
  await put('/_users/org.couchdb.user:ann', { name: 'ann', type: 'user', roles: [], password: 'a long one' })
  await open('users?chosen=ann')
  await page.getByLabel('Roles').fill('sales,,office')
  await typeWhileSaved({
    saved: /org\.couchdb\.user/, read: /_users\/_all_docs/, save: () => button('Save').click(),
    type: () => page.getByLabel('New password').fill('another one')
  })
  await shows(page.getByLabel('Roles'), 'sales, office')
  assert.equal(await page.getByLabel('New password').inputValue(), 'another one')
  await button('Save').click()
  await shows(page.getByLabel('New password'), '')
  noErrors()
})

test('a setting', async () => {
  await open('settings?setting=chttpd/max_uri_length')
  const field = page.getByLabel('New value')
  await field.fill('8000')
  await typeWhileSaved({
    saved: /_config\/chttpd/, read: /_settings/, save: () => button('Save').click(), type: () => field.fill('9000')
  })
  await page.locator('.facts').getByText('8000').waitFor()
  assert.equal(await field.inputValue(), '9000')
  await button('Save').click()
  await page.locator('.facts').getByText('9000').waitFor()
  noErrors()
})

test('code, bindings and settings of an event function', async () => {
  await api(`${API}/functions/greet`, {
    method: 'POST', body: { appname: 'greet', appcode: 'function OnUpdate() {}', depcfg: { source_bucket: 'orders' }, settings: {} }
  })
  const read = /functions\/greet(\?|$)/
  await open('functions')
  await page.getByRole('row', { name: /greet/ }).click()
  await setCode('Code', 'function OnUpdate() { log(1) }')
  await typeWhileSaved({
    saved: /appcode/, read, save: () => page.keyboard.press('Control+s'), type: () => setCode('Code', 'function OnUpdate() { log(2) }')
  })
  await page.getByText('Changed and not saved.').waitFor()
  assert.match(await code('Code').innerText(), /log\(2\)/)
  await page.keyboard.press('Control+s')
  await until(`${API}/functions/greet`, ({ appcode }) => appcode.includes('log(2)'))
  await page.getByText('Ctrl+S saves.').waitFor()

  await page.getByRole('tab', { name: 'Bindings' }).click()
  await button('Add constant').click()
  const constant = page.getByRole('group', { name: 'constant 1' })
  await constant.getByLabel('Name in the code').fill('most')
  await constant.getByLabel('JavaScript literal').fill('100')
  await typeWhileSaved({
    saved: /functions\/greet\/config/, read, save: () => button('Save bindings').click(),
    type: () => constant.getByLabel('JavaScript literal').fill('200')
  })
  assert.equal(await constant.getByLabel('JavaScript literal').inputValue(), '200')

  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('selector').fill('{"n":   1}')
  await typeWhileSaved({
    saved: /functions\/greet\/settings/, read, save: () => button('Save settings').click(), type: () => page.getByLabel('description').fill('greets')
  })
  await shows(page.getByLabel('selector'), '{"n":1}')
  assert.equal(await page.getByLabel('description').inputValue(), 'greets')
  await button('Save settings').click()
  await until(`${API}/functions/greet/settings`, ({ description }) => description === 'greets')
  noErrors()
})

test('a design document', async () => {
  await put('/orders/_design/shop', { views: { a: { map: 'function (doc) { emit(1) }' }, b: { map: 'function (doc) { emit(1) }' } } })
  await open('designs/orders/shop')
  await setCode('a map', 'function (doc) { emit(2) }')
  await typeWhileSaved({
    saved: /_design\/shop/, read: /_design\/shop/, save: () => page.keyboard.press('Control+s'),
    type: () => setCode('a map', 'function (doc) { emit(3) }')
  })
  await page.getByText('Changed, not saved').waitFor()
  assert.match(await code('a map').innerText(), /emit\(3\)/)
  await page.keyboard.press('Control+s')
  await until('/orders/_design/shop', ({ views }) => views.a.map.includes('emit(3)'))
  await page.getByText('Saved, revision 3').waitFor()
  noErrors()
})

test('a design document, before the editor has come', async () => {
  await put('/orders/_design/early', { views: { a: { map: 'function (doc) { emit(1) }' } } })
  let come
  const editor = new Promise(resolve => { come = resolve })
  await page.route(/codemirror/, async route => { await editor; await route.continue() })
  await page.reload()
  await open('designs/orders/early')
  const field = page.locator('textarea[aria-label="a map"]')
  await field.fill('function (doc) { emit(2) }')
  await field.press('Control+s')
  await until('/orders/_design/early', ({ views }) => views.a.map.includes('emit(2)'))
  await field.press('End')
  come()
  await page.locator('.cm-content').waitFor()
  await page.keyboard.insertText(' // more')
  await page.keyboard.press('Control+s')
  await until('/orders/_design/early', ({ views }) => views.a.map.includes('more'))
  await page.unrouteAll({ behavior: 'wait' })
  noErrors()
})

test('a document', async () => {
  const { rev } = await put('/orders/one', { n: 1 })
  await open('databases/orders?doc=one')
  await setCode('JSON of one', JSON.stringify({ _id: 'one', _rev: rev, n: 2 }))
  await typeWhileSaved({
    saved: /orders\/one/, read: /orders\/one/, save: () => page.keyboard.press('Control+s'),
    type: () => setCode('JSON of one', JSON.stringify({ _id: 'one', _rev: rev, n: 3 }))
  })
  assert.match(await code('JSON of one').innerText(), /"n":3/)
  await page.keyboard.press('Control+s')
  await until('/orders/one', doc => doc.n === 3)
  await page.getByRole('row', { name: /one/ }).getByText('3', { exact: true }).waitFor()
  noErrors()
})
