// Queries of the console: Mango with completion and errors at their place, views, full text, groups; explain and the
// index that helps; history and saved queries.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { accessible, api, expect, noErrors, open, page, pictures, setCode, signIn } from './console.js'

const MANGO = { selector: { country: 'DE', amount: { $gt: 400 } }, limit: 5 }

async function prepare () {
  await api('/orders', { method: 'PUT' })
  const docs = Array.from({ length: 600 }, (_, i) => ({
    _id: `order${String(i).padStart(4, '0')}`, country: ['DE', 'FR', 'IT', 'US'][i % 4], status: ['open', 'paid', 'sent'][i % 3],
    amount: i * 37 % 500, note: `red apples and ${i % 7 ? 'pears' : 'quinces'}`, customer: { name: `c${i % 50}` }
  }))
  await api('/orders/_bulk_docs', { method: 'POST', body: { docs } })
  await api('/orders/_design/shop', {
    method: 'PUT',
    body: {
      views: { bycountry: { map: 'function (doc) { emit(doc.country, doc.amount) }', reduce: '_sum' } },
      indexes: { bynote: { analyzer: 'english', index: "function (doc) { index('default', doc.note, {store: true}) }" } }
    }
  })
  await signIn()
}

// Types a query and runs it by Ctrl+Enter.
async function run (label, query) {
  await setCode(label, typeof query === 'string' ? query : JSON.stringify(query, null, 2))
  await page.keyboard.press('Control+Enter')
}

const status = text => page.getByRole('status').filter({ hasText: text }).first().waitFor()
const results = () => page.getByRole('grid', { name: 'Results' })

test('a Mango query is written with completion, run by Ctrl+Enter, and read page by page', async () => {
  await prepare()
  await page.getByRole('link', { name: 'Queries' }).click()
  await page.getByRole('heading', { name: 'Choose a database' }).waitFor()
  await accessible()
  await page.getByRole('combobox', { name: 'Database' }).fill('orders')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Nothing was run yet' }).waitFor()
  await setCode('Mango query', '{"selector": {')
  await page.keyboard.type('"coun')
  await page.getByRole('option', { name: /^country/ }).waitFor()
  await page.keyboard.press('Escape')
  await run('Mango query', MANGO)
  await status('5 rows')
  await page.getByText(/No matching index found/).waitFor()
  await page.getByRole('button', { name: 'Next page' }).click()
  await status('10 rows')
  await results().getByRole('columnheader', { name: 'amount' }).waitFor()
  assert.match(await results().getByRole('link').first().getAttribute('href'), /databases\/orders\?doc=order\d+$/)
  await accessible()
  await pictures('console-queries')
  noErrors()
})

test('an error is said and marked where the server found it', async () => {
  expect(/400 POST .*_find|status of 400/)
  await run('Mango query', { selector: { amount: { $gtx: 400 } } })
  await page.getByRole('alert').getByText('Invalid operator: $gtx').waitFor()
  const marked = page.locator('.editor-host .cm-lintRange-error')
  await marked.waitFor()
  assert.equal(await marked.textContent(), '"$gtx"')
  await run('Mango query', '{"selector": ')
  await page.getByRole('alert').getByText(/The query is not JSON/).waitFor()
  await accessible()
  noErrors()
})

test('explain shows what was read, makes the index that helps, and what it changed', async () => {
  await run('Mango query', MANGO)
  await status('5 rows')
  await page.getByRole('tab', { name: 'Explain' }).click()
  await page.getByText('no index fits').waitFor()
  await page.getByText('country, amount').waitFor()
  await accessible()
  await pictures('console-explain')
  await page.getByRole('button', { name: 'Make this index and run again' }).click()
  await page.getByRole('listitem').filter({ hasText: 'chosen' }).getByText(/^Index /).first().waitFor()
  await page.getByText(/\d+ → 6|\d+ → 5/).first().waitFor()
  await page.getByText(/No further index would help/).waitFor()
  const { indexes } = await api('/orders/_index')
  assert.deepEqual(indexes.at(-1).def, { fields: [{ country: 'asc' }, { amount: 'asc' }] })
  noErrors()
})

test('a link runs its query', async () => {
  const query = new URLSearchParams({ db: 'orders', kind: 'mango', q: JSON.stringify({ selector: { status: 'paid' }, limit: 3, count: true }) })
  await open(`queries?${query}`)
  await status('3 rows of 200')
  await page.getByRole('tab', { name: 'JSON' }).click()
  await page.getByRole('textbox', { name: 'Answer as JSON' }).waitFor()
  await accessible()
  noErrors()
})

test('a view is chosen, its options set by the form, and drawn', async () => {
  await open('queries?db=orders&kind=view')
  await page.getByRole('combobox', { name: 'View' }).waitFor()
  await page.getByLabel('Group', { exact: true }).check()
  await page.getByRole('button', { name: 'Run' }).click()
  await status('4 rows')
  await page.getByRole('tab', { name: 'Chart' }).click()
  await page.getByRole('img', { name: 'value by key' }).waitFor()
  await accessible()
  await pictures('console-chart')
  await page.getByLabel('Shape').selectOption('line')
  await page.getByRole('img', { name: 'value by key' }).waitFor()
  noErrors()
})

test('words are searched, and an error in them is marked', async () => {
  await open('queries?db=orders&kind=search')
  await page.getByLabel('Words').fill('quinces')
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: 'Run' }).click()
  await status('25 rows of 86')
  await results().getByText('red apples and quinces').first().waitFor()
  expect(/400 POST .*_search|status of 400/)
  await run('Full text query', { q: 'red AND (', limit: 5 })
  await page.getByRole('alert').getByText(/Cannot parse/).waitFor()
  assert.equal(await page.locator('.editor-host .cm-lintRange-error').textContent(), '(')
  noErrors()
})

test('documents are counted by groups, and distinct values are listed with an index over all fields', async () => {
  await open('queries?db=orders&kind=aggregate')
  await run('Groups query', { group_by: ['status'], values: { n: { $count: true }, sum: { $sum: 'amount' } } })
  await status('3 rows')
  await results().getByRole('columnheader', { name: 'status' }).waitFor()
  await page.getByRole('tab', { name: 'Explain' }).click()
  await page.getByText(/plan “hashed”/).waitFor()
  await api('/orders/_index', { method: 'POST', body: { index: {}, type: 'auto' } })
  await open('queries?db=orders&kind=distinct')
  await run('Distinct query', { field: 'country' })
  await status('4 rows')
  noErrors()
})

test('queries are kept by name, in the history, and in a file', async () => {
  await open(`queries?${new URLSearchParams({ db: 'orders', q: JSON.stringify({ selector: { status: 'sent' }, limit: 2 }) })}`)
  await status('2 rows')
  await page.getByRole('tab', { name: 'Saved and history' }).click()
  await page.getByLabel('Save this query as').fill('sent ones')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'sent ones', exact: true }).waitFor()
  await accessible()
  await pictures('console-history')
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()])
  const file = JSON.parse(await readFile(await download.path(), 'utf8'))
  assert.deepEqual(JSON.parse(file['sent ones'].text), { selector: { status: 'sent' }, limit: 2 })
  await page.getByLabel('Import saved queries').setInputFiles({
    name: 'q.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify({ 'from a file': { ...file['sent ones'], text: '{"selector": {}, "limit": 7}' } }))
  })
  await page.getByRole('button', { name: 'from a file', exact: true }).click()
  await status('7 rows')
  await page.getByRole('tab', { name: 'Saved and history' }).click()
  await page.getByRole('button', { name: /quinces/ }).waitFor()
  noErrors()
})
