// The walk of a new user through the console: from the form that signs in to a database with a document, an index, a
// query, a function and a replication, by what is to be read on the pages alone. Clicks are counted.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { base, noErrors, page, setCode, until } from './console.js'

const MOST = 30 // clicks and keys that do something: what is typed into fields does not count

let steps = 0
const click = async what => {
  steps++
  await what.click()
}
const press = async key => {
  steps++
  await page.keyboard.press(key)
}
const link = name => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name })
const button = name => page.getByRole('button', { name, exact: true }).first()

test('a new user signs in and makes a database with a document', async () => {
  await page.goto(`${base}/_console/`)
  await page.getByLabel('Name').fill('admin')
  await page.getByLabel('Password').fill('password')
  await press('Enter')
  await click(link('Databases'))
  await click(button('Create database'))
  await page.getByLabel('Name', { exact: true }).fill('shop')
  await press('Enter')
  await page.getByRole('heading', { name: 'shop' }).waitFor()
  await click(button('New document'))
  await setCode('JSON of the new document', '{"_id": "apple", "kind": "fruit", "price": 2}')
  await press('Control+s')
  await until('/shop/apple', doc => doc.price === 2)
  noErrors()
})

test('an index, and a query that uses it', async () => {
  await click(link('Designs & indexes'))
  await page.getByRole('combobox', { name: 'Database' }).fill('shop')
  await press('Enter')
  await click(button('Make index'))
  await page.getByRole('dialog').getByRole('textbox', { name: 'Fields', exact: true }).fill('kind')
  await click(button('Make'))
  await page.getByRole('listitem').getByText('kind', { exact: true }).first().waitFor()
  await click(link('Queries'))
  await page.getByRole('combobox', { name: 'Database' }).fill('shop')
  await press('Enter')
  await setCode('Mango query', '{"selector": {"kind": "fruit"}}')
  await press('Control+Enter')
  await page.getByRole('grid', { name: 'Results' }).getByRole('link', { name: 'apple' }).waitFor()
  noErrors()
})

test('a function that answers to changes', async () => {
  await click(link('Databases'))
  await click(button('Create database'))
  await page.getByLabel('Name', { exact: true }).fill('prices')
  await press('Enter')
  await page.getByRole('heading', { name: 'prices' }).waitFor()
  await click(link('Event functions'))
  await click(button('Create function'))
  await page.getByLabel('Name', { exact: true }).fill('prices')
  await page.getByLabel('Source').fill('shop')
  await click(button('Create'))
  await click(page.getByRole('tab', { name: 'Bindings' }))
  await click(button('Add database'))
  const row = page.getByRole('group', { name: 'database 1' })
  await row.getByLabel('Name in the code').fill('prices')
  await row.getByRole('combobox', { name: 'Database' }).fill('prices')
  await click(button('Save bindings'))
  await page.getByText(/^Bindings saved/).waitFor()
  await click(page.getByRole('tab', { name: 'Code' }))
  await setCode('Code', 'function OnUpdate(doc, meta) {\n  prices[meta.id] = {price: doc.price}\n}')
  await press('Control+s')
  await page.getByText(/^Code saved/).waitFor()
  await click(button('Deploy'))
  await until('/prices/apple', doc => doc.price === 2)
  noErrors()
})

test('a copy that stays in step, and the whole walk is short', async t => {
  await click(link('Replications'))
  await click(button('Create replication'))
  await page.getByLabel('Keep in step, also after a restart').check()
  steps++
  for (const [label, name] of [['From', 'shop'], ['To', 'copy']]) {
    const group = page.getByRole('group', { name: label, exact: true })
    await group.getByLabel(`${label}: database`).fill(name)
    const password = group.getByLabel(`${label}: password`)
    if (await password.count() > 0) await password.fill('password')
  }
  await click(button('Start'))
  await until('/copy/apple', doc => doc.price === 2)
  t.diagnostic(`${steps} clicks and keys`)
  assert.ok(steps <= MOST, `${steps} clicks and keys`)
  noErrors()
})
