// The console's page of event functions: make one, an error of the compiler at its line, deploy, live plots, log and
// costs of lines, a test without effects, settings and bindings, the debugger, pause, undeploy, delete, export, import.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { accessible, api, expect, noErrors, open, page, pictures, setCode, signIn, until } from './console.js'

const API = '/_eventing/api/v1'
const HOSTILE = '<img src=x onerror=document.title="owned">'

const CODE = `function OnUpdate(doc, meta) {
  log('order', meta.id, doc.note);
  if (doc.bad) throw new Error('a bad order');
  const key = 'customer:' + doc.customer;
  const sum = totals[key] || {orders: 0, total: 0};
  sum.orders++;
  sum.total += doc.total;
  totals[key] = sum;
  createTimer(Remind, new Date(Date.now() + 3600000), meta.id, {id: meta.id});
}

function Remind(context) {
  log('reminder', context.id);
}
`

const put = (path, body) => api(path, { method: 'PUT', body })
const tab = name => page.getByRole('tab', { name }).click()
const button = name => page.getByRole('button', { name, exact: true })
const state = text => page.getByRole('region', { name: 'Function' }).getByText(text, { exact: true }).first().waitFor()

test('a function is made', async () => {
  for (const name of ['orders', 'totals']) await api(`/${name}`, { method: 'PUT' })
  await signIn()
  await page.getByRole('link', { name: 'Event functions' }).click()
  await page.getByRole('heading', { name: 'There are no functions' }).waitFor()
  await accessible()
  await button('Create function').first().click()
  await page.getByLabel('Name', { exact: true }).fill('totals')
  await page.getByLabel('Source').fill('orders')
  await accessible()
  await button('Create').click()
  await state('undeployed')
  await page.getByRole('textbox', { name: 'Code' }).getByText('OnUpdate').waitFor()
  assert.equal((await api(`${API}/functions/totals`)).depcfg.source_bucket, 'orders')
  noErrors()
})

test('a database is bound', async () => {
  await tab('Bindings')
  await button('Add database').click()
  const row = page.getByRole('group', { name: 'database 1' })
  await row.getByLabel('Name in the code').fill('totals')
  await row.getByRole('combobox', { name: 'Database' }).fill('totals')
  await button('Add constant').click()
  const constant = page.getByRole('group', { name: 'constant 1' })
  await constant.getByLabel('Name in the code').fill('most')
  await constant.getByLabel('JavaScript literal').fill('100')
  await accessible()
  await button('Save bindings').click()
  await page.getByText(/^Bindings saved/).waitFor()
  const { buckets, constants } = await api(`${API}/functions/totals/config`)
  assert.deepEqual([buckets[0].alias, buckets[0].bucket_name, buckets[0].access], ['totals', 'totals', 'rw'])
  assert.deepEqual(constants, [{ value: 'most', literal: '100' }])
  noErrors()
})

test('an error of the compiler stands at its line, and Ctrl+S saves', async () => {
  expect(/422 POST .*appcode|status of 422/)
  await tab('Code')
  await setCode('Code', CODE.replace('sum.orders++;', 'sum.orders ++ 1;'))
  await page.keyboard.press('Control+s')
  await page.getByText(/The code does not compile: line 6, column \d+/).waitFor()
  await page.locator('.cm-lint-marker-error').waitFor()
  await accessible()
  assert.doesNotMatch((await api(`${API}/functions/totals`)).appcode, /orders \+\+ 1/)
  await setCode('Code', CODE)
  await page.keyboard.press('Control+s')
  await page.getByText(/^Code saved/).waitFor()
  assert.equal((await api(`${API}/functions/totals`)).appcode, CODE)
  noErrors()
})

test('settings have their errors beside them, and those without effect are not shown', async () => {
  await tab('Settings')
  await page.getByLabel('description').fill(HOSTILE)
  await page.getByLabel('selector').fill('{"customer": ')
  await button('Save settings').click()
  await page.getByText('This is no JSON').waitFor()
  await page.getByLabel('selector').fill('{"customer": {"$gt": null}}')
  await page.getByLabel('max_retries').fill('0')
  await accessible()
  await button('Save settings').click()
  await page.getByText(/^Settings saved/).waitFor()
  const settings = await api(`${API}/functions/totals/settings`)
  assert.equal(settings.description, HOSTILE)
  assert.deepEqual(settings.selector, { customer: { $gt: null } })
  assert.equal(settings.max_retries, 0)
  assert.equal(await page.getByLabel('lcb_timeout').count(), 0)
  noErrors()
})

test('a deployed function shows what it does', async () => {
  await tab('Code')
  await button('Deploy').click()
  await state('deployed')
  for (let i = 1; i < 40; i++) await put(`/orders/${i}`, { customer: 'ada', total: i, note: HOSTILE, bad: i % 10 === 0 })
  await until('/totals/customer:ada', doc => doc.orders === 36)
  await page.getByText('39 events').waitFor()
  await page.getByTitle(/39 calls/).first().waitFor()
  await page.getByTitle(/3 failed: .*a bad order/).waitFor()
  await accessible()
  await pictures('console-functions')
  await tab('Log')
  await page.getByRole('grid', { name: 'Log' }).getByRole('row', { name: '<img src=x onerror=' }).first().waitFor()
  await page.getByRole('grid', { name: 'Log' }).getByText('a bad order').first().waitFor()
  await accessible()
  assert.match(await page.title(), /^Event functions/)
  noErrors()
})

test('a test shows writes and applies none', async () => {
  await tab('Test')
  await page.getByLabel('Event', { exact: true }).selectOption('doc')
  await page.getByLabel('Id of the document').fill('new')
  await page.getByLabel('Document (JSON)').fill('{"customer": "bob", "total": 7}')
  await button('Run').click()
  await page.getByText('success').waitFor()
  for (const part of ['totals/customer:bob', 'Remind new', 'order" "new']) await page.getByText(part).first().waitFor()
  await accessible()
  assert.equal((await api('/totals/customer:bob')).error, 'not_found')
  await page.getByLabel('Event', { exact: true }).selectOption('id')
  await page.getByLabel('Id of the document').fill('10')
  await button('Run').click()
  await button('Line 3').click()
  await page.locator('.cm-current').getByText('a bad order').waitFor()
  noErrors()
})

test('the debugger stops a handler, shows what it knows and lets its event go', async () => {
  await tab('Debug')
  await button('Switch it on').click()
  await page.getByLabel('Document or timer').fill('looked-at')
  await accessible()
  await button('Catch an event').click()
  await page.getByText('Waits for an event').waitFor()
  await put('/orders/passes', { customer: 'eve', total: 1 })
  await put('/orders/looked-at', { customer: 'eve', total: 3, note: HOSTILE })
  await page.locator('.cm-current').getByText("log('order'").waitFor()
  await until('/totals/customer:eve', doc => doc.orders === 1)
  const breakpoint = () => page.locator('.cm-gutter.cm-lineNumbers .cm-gutterElement').getByText('7', { exact: true }).click()
  await breakpoint()
  await page.locator('[title=breakpoint]:visible').waitFor()
  await page.getByLabel('Watch an expression').fill('sum.total + doc.total')
  await page.keyboard.press('Enter')
  await button('Continue').click()
  await page.locator('.cm-current').getByText('sum.total += doc.total').waitFor()
  await button('OnUpdate, line 7').waitFor()
  await page.getByText('key: "customer:eve"').waitFor()
  await page.getByText('sum.total + doc.total: 4').waitFor()
  await page.getByText(/^doc: /).click()
  await page.getByText('total: 3', { exact: true }).waitFor()
  await accessible()
  await button('Step over').click()
  await page.getByText('sum.total + doc.total: 7').waitFor()
  await button('Step over').click()
  await page.getByText('totals/customer:eve: {"orders":2,"total":4}').waitFor()
  await pictures('console-debugger')
  assert.equal((await api('/totals/customer:eve')).total, 1)
  await breakpoint()
  await button('Continue').click()
  await page.getByText('The session is over').waitFor()
  await until('/totals/customer:eve', doc => doc.orders === 2 && doc.total === 4)
  noErrors()
})

test('a function is paused, changed and resumed', async () => {
  await tab('Code')
  await button('Pause').click()
  await state('paused')
  await setCode('Code', CODE.replace("'order'", "'seen'"))
  await page.keyboard.press('Control+s')
  await page.getByText(/changed since/).waitFor()
  await button('Resume').click()
  await state('deployed')
  await put('/orders/last', { customer: 'eve', total: 1 })
  await tab('Log')
  await page.getByText('"seen" "last"').waitFor()
  noErrors()
})

test('functions are exported and imported', async () => {
  const [download] = await Promise.all([page.waitForEvent('download'), button('Export all').click()])
  const [exported] = JSON.parse(await readFile(await download.path(), 'utf8'))
  assert.equal(exported.appname, 'totals')
  const copy = Buffer.from(JSON.stringify([{ ...exported, appname: 'copy' }]))
  await page.getByLabel('File to import').setInputFiles({ name: 'f.json', mimeType: 'application/json', buffer: copy })
  await page.getByText('1 of 1 function imported.').waitFor()
  await page.getByRole('grid', { name: 'Functions' }).getByText('copy').waitFor()
  noErrors()
})

test('undeploying and deleting ask', async () => {
  await button('Undeploy').click()
  await page.getByText('its place in the feed go').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Undeploy' }).click()
  await state('undeployed')
  await button('Delete').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('grid', { name: 'Functions' }).getByText('totals').waitFor({ state: 'detached' })
  assert.equal((await api(`${API}/functions/totals`)).code, 13)
  noErrors()
})

test('unsaved code is not left without a question', async () => {
  await open('functions?function=*/*/copy')
  await setCode('Code', '// another')
  await page.getByRole('link', { name: 'Databases' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('heading', { name: 'Event functions' }).waitFor()
  await page.getByRole('link', { name: 'Databases' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Databases' }).waitFor()
  noErrors()
})

test('a message that nobody took is read and sent again', async () => {
  await api('/audit', { method: 'PUT' })
  const rule = { validate_doc_update: 'function () { throw({forbidden: "closed"}) }' }
  const { rev } = await put('/audit/_design/closed', rule)
  await api(`${API}/functions/tells`, {
    method: 'POST',
    body: {
      appname: 'tells',
      appcode: 'function OnUpdate(doc, meta) { publish(audit, {of: meta.id}, {id: "told"}); }',
      depcfg: { source_bucket: 'orders', buckets: [{ alias: 'audit', bucket_name: 'audit', access: 'rw' }] },
      settings: { dcp_stream_boundary: 'from_now' }
    }
  })
  await api(`${API}/functions/tells/deploy?wait=60s`, { method: 'POST' })
  await put('/orders/told', { total: 1 })
  await open('functions?function=*/*/tells&part=letters')
  const grid = page.getByRole('grid', { name: 'Dead letters' })
  await grid.getByText('audit').click()
  await page.getByText('"of": "told"').waitFor()
  await accessible()
  await api(`/audit/_design/closed?rev=${rev}`, { method: 'DELETE' })
  await page.getByRole('button', { name: 'Send again', exact: true }).click()
  await page.getByRole('heading', { name: 'No dead letters' }).waitFor()
  await until('/audit/told', doc => doc.of === 'told')
  noErrors()
})
