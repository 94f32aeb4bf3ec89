// Designs & indexes of the console: cards with state and errors, indexes by a form, functions edited, tried and saved.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accessible, api, expect, noErrors, open, page, pictures, setCode, signIn, until } from './console.js'

const MAP = 'function (doc) {\n  if (doc.amount > 90) throw new Error("too much")\n  emit(doc.country, doc.amount)\n}'

async function prepare () {
  await api('/orders', { method: 'PUT' })
  const docs = Array.from({ length: 100 }, (_, i) => ({ _id: `order${String(i).padStart(3, '0')}`, country: ['DE', 'FR'][i % 2], amount: i, note: 'red apples' }))
  await api('/orders/_bulk_docs', { method: 'POST', body: { docs } })
  await api('/orders/_design/shop', {
    method: 'PUT',
    body: {
      views: { bycountry: { map: MAP, reduce: '_sum' } },
      indexes: { bynote: { analyzer: 'english', index: "function (doc) { index('default', doc.note) }" } },
      shows: { page: "function (doc, req) { return {headers: {'Content-Type': 'text/html'}, body: '<b>' + doc.country + '</b>'} }" },
      lists: { lines: "function (head, req) { var row; while (row = getRow()) send(row.key + '; '); return 'end' }" },
      filters: { german: "function (doc, req) { return doc.country === 'DE' }" }
    }
  })
  await api('/orders/_design/shop/_view/bycountry')
  await api('/orders/_design/shop/_search/bynote?q=red')
  await signIn()
}

const box = name => page.getByRole('dialog').getByRole('textbox', { name, exact: true })
const card = name => page.getByRole('listitem', { name })

test('a database is chosen, and each index has a card with its state and what it cannot hold', async () => {
  await prepare()
  await page.getByRole('link', { name: 'Designs & indexes' }).click()
  await accessible()
  await page.getByRole('combobox', { name: 'Database' }).fill('orders')
  await page.keyboard.press('Enter')
  const view = card('shop/bycountry')
  await view.getByText('up to date').waitFor()
  await view.getByText('cannot hold 9 documents').click()
  await view.getByRole('link', { name: 'order091' }).waitFor()
  await view.getByText(/too much/).first().waitFor()
  await card('shop/bynote').getByText('analyzer english').waitFor()
  await view.getByText(/^used /).waitFor()
  await accessible()
  noErrors()
})

test('an index that nobody has used for a month is marked', async () => {
  await page.route('**/_index_use', async route => { // as the answer is after a month
    const answer = await (await route.fetch()).json()
    answer.designs[0].indexes.find(one => one.type === 'search').last_used = new Date(Date.now() - 31 * 86_400_000).toISOString()
    await route.fulfill({ json: answer })
  })
  await card('shop/bynote').getByText('not used for 31 days').waitFor()
  await card('shop/bycountry').getByText(/^used /).waitFor()
  await accessible()
  await page.unrouteAll({ behavior: 'wait' }) // polls under way come to their end
  await card('shop/bynote').getByText(/^used /).waitFor()
  noErrors()
})

test('indexes are made by a form, and deleted by name', async () => {
  await page.getByRole('button', { name: 'Make index' }).click()
  expect(/400 POST .*_index|status of 400|404 GET .*_nouveau_info|status of 404/)
  await box('Fields').fill('country, amount desc')
  await page.getByRole('button', { name: 'Make', exact: true }).click()
  await page.getByRole('alert').getByText(/direction/i).waitFor()
  await box('Fields').fill('country, amount')
  await box('Only documents that pass').fill('{"amount": {"$gt": 10}}')
  await box('Design document').fill('big')
  await box('Name').fill('big')
  await accessible()
  await page.getByRole('button', { name: 'Make', exact: true }).click()
  await card('big/big').getByText('country, amount, of some documents').waitFor()
  await page.getByRole('button', { name: 'Make index' }).click()
  await page.getByRole('tab', { name: 'Nouveau' }).click()
  await box('Fields').fill('note')
  await box('Design document').fill('words')
  await box('Name').fill('note')
  await page.getByRole('button', { name: 'Make', exact: true }).click()
  await card('words/note').waitFor()
  await page.getByRole('button', { name: 'Build now: note' }).click()
  await card('words/note').getByText('up to date').waitFor()
  await page.getByRole('button', { name: 'Make index' }).click()
  await page.getByRole('tab', { name: 'All fields' }).click()
  await box('Design document').fill('all')
  await page.getByRole('button', { name: 'Make', exact: true }).click()
  await page.getByRole('region', { name: 'Design document all' }).getByText('ready').waitFor()
  await pictures('console-designs')
  await page.getByRole('button', { name: 'Delete big' }).click()
  await page.getByRole('dialog').getByText(/country, amount, of some documents goes/).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await card('big/big').waitFor({ state: 'detached' })
  const { indexes } = await api('/orders/_index')
  assert.deepEqual(indexes.map(one => one.type).sort(), ['auto', 'special'])
  noErrors()
})

test('a map function is changed, tried with documents, and saved', async () => {
  await page.getByRole('link', { name: 'shop', exact: true }).click()
  await page.getByRole('button', { name: 'bycountry map' }).click()
  await setCode('bycountry map', 'function (doc) {\n  emit([doc.country, doc.amount % 10], 1)\n}')
  await page.keyboard.press('Control+Enter')
  await page.getByText('["DE",0] → 1').waitFor()
  await page.getByText('reduce 5').waitFor()
  await page.getByRole('button', { name: 'filter german' }).click()
  await page.getByLabel('Request').waitFor()
  assert.equal(await page.getByRole('alert').count(), 0, 'another function is not tried before somebody asks')
  await page.getByRole('button', { name: 'bycountry map' }).click()
  await accessible()
  await pictures('console-design')
  await setCode('bycountry map', 'function (doc) {\n  emit(doc.country, doc.amount)\n}')
  await page.keyboard.press('Control+s')
  await page.getByText(/shop was saved/).waitFor()
  const { rows } = await api('/orders/_design/shop/_view/bycountry?group=true')
  assert.deepEqual(rows, [{ key: 'DE', value: 2450 }, { key: 'FR', value: 2500 }])
  noErrors()
})

test('an error of the compiler is marked at its line', async () => {
  expect(/400 PUT .*_design|status of 400/)
  await setCode('bycountry map', 'function (doc) {\n  emit(doc.country,\n}')
  await page.keyboard.press('Control+s')
  await page.getByRole('alert').getByText(/Compilation of the map function/).waitFor()
  assert.equal(await page.locator('.editor-host .cm-lintRange-error').textContent(), '}')
  await accessible()
  await setCode('bycountry map', 'function (doc) {\n  emit(doc.country, doc.amount)\n}')
  noErrors()
})

test('a validation is added and tried as another user, a filter with a request, shows and lists', async () => {
  await page.getByRole('button', { name: 'Add function' }).click()
  await page.getByLabel('Kind').selectOption('Validation')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await setCode('validate_doc_update', "function (newDoc, oldDoc, user) {\n  if (user.roles.indexOf('editor') < 0) throw {forbidden: 'editors only'}\n}")
  await page.getByLabel('With roles').fill('reader')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('forbidden: editors only').first().waitFor()
  await page.getByLabel('With roles').fill('editor')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('accepted').first().waitFor()
  await accessible()
  await pictures('console-validation', ['wide', 'phone'])
  await page.getByRole('button', { name: 'filter german' }).click()
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('does not pass').first().waitFor()
  await page.getByRole('button', { name: 'show page' }).click()
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('"body":"<b>DE</b>"').first().waitFor()
  await page.getByRole('button', { name: 'list lines' }).click()
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('order000; order001; order002; order003; order004; end').waitFor()
  await page.getByLabel('Rows').selectOption('bycountry')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('DE; DE; DE; FR; FR; end').waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/shop was saved/).first().waitFor()
  assert.match((await api('/orders/_design/shop')).validate_doc_update, /editors only/)
  noErrors()
})

test('a design document is made, and deleted with what it names', async () => {
  await open('designs/orders')
  await page.getByRole('button', { name: 'New design document' }).click()
  await box('Name').fill('more')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'more' }).waitFor()
  await page.getByRole('textbox', { name: 'by-type map' }).waitFor()
  await page.getByRole('navigation', { name: 'Functions' }).waitFor()
  await open('designs/orders')
  await page.getByRole('button', { name: 'More about more' }).click()
  await page.getByRole('menuitem', { name: 'Delete the design document' }).click()
  await page.getByRole('dialog').getByText('the index by-type (view)').waitFor()
  await accessible()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('more was deleted').waitFor()
  await until('/orders/_design/more', doc => doc.error === 'not_found')
  noErrors()
})

test('a build shows how far it is, and then that it is done', async () => {
  await api('/slow', { method: 'PUT' })
  await api('/slow/_bulk_docs', { method: 'POST', body: { docs: Array.from({ length: 800 }, (_, i) => ({ _id: `d${i}` })) } })
  const map = 'function (doc) { var began = Date.now(); while (Date.now() - began < 10); emit(doc._id, null) }'
  await api('/slow/_design/late', { method: 'PUT', body: { views: { crawl: { map } }, autoupdate: false } })
  await open('designs/slow')
  await page.getByRole('button', { name: 'Build now: crawl' }).click()
  const bar = card('late/crawl').getByRole('progressbar', { name: 'Build of crawl' })
  await bar.waitFor()
  await card('late/crawl').getByText(/^\d+ %/).waitFor()
  await card('late/crawl').getByText('building').waitFor()
  await card('late/crawl').getByText('up to date').waitFor({ timeout: 5 * 60_000 }) // it takes what the machine leaves
  await bar.waitFor({ state: 'detached' })
  noErrors()
})
