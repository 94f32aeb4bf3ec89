// The frame of the console: sign in and out, the palette, colours, the list of databases, a server that goes away.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accessible, api, expect, noErrors, open, page, pictures, signIn, toEnd, until } from './console.js'

test('a wrong password is said, the right one opens the first page', async () => {
  expect(/401 POST .*_session|status of 401/)
  await page.goto('about:blank')
  await open('')
  await accessible()
  await page.getByLabel('Name').fill('admin')
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('Name or password is incorrect.').waitFor()
  await pictures('console-sign-in')
  await signIn()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  noErrors()
})

test('a database is made and found by its first letters', async () => {
  await page.getByRole('link', { name: 'Databases' }).click()
  await page.getByRole('button', { name: 'Create database' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('orders/2026')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'orders/2026' }).waitFor()
  await until('/orders%2F2026', info => info.db_name === 'orders/2026')
  await page.goBack()
  await page.getByRole('searchbox').fill('orders')
  await page.getByText('1 database', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'orders/2026' }).waitFor()
  await accessible()
  await page.getByRole('searchbox').fill('')
  await pictures('console-databases')
  noErrors()
})

test('a thousand databases scroll', async () => {
  for (let i = 0; i < 250; i++) await api(`/many${String(i).padStart(4, '0')}`, { method: 'PUT' })
  await open('databases?filter=many')
  const grid = page.getByRole('grid', { name: 'Databases' })
  await grid.getByRole('link', { name: 'many0000' }).waitFor()
  await toEnd(grid, grid.getByRole('link', { name: 'many0249' }))
  assert.ok(await grid.getByRole('row').count() < 100, 'only the rows that are seen are in the page')
  noErrors()
})

test('the palette leads to pages and databases', async () => {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill('many0123')
  await page.getByRole('option', { name: 'many0123' }).waitFor()
  await accessible()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'many0123' }).waitFor()
  for (const [typed, theme] of [['dark', 'dark'], ['colours of the sys', 'system']]) {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command' }).fill(typed)
    await page.keyboard.press('Enter')
    await page.locator(`html[data-theme=${theme}]`).waitFor()
  }
  noErrors()
})

test('what was asked is shown as curl', async () => {
  await open('databases')
  await page.getByRole('link', { name: '_users' }).waitFor()
  await page.getByRole('button', { name: 'Create database' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('curled')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'curled' }).waitFor()
  await page.getByRole('button', { name: 'curl' }).click()
  await page.getByText(/^curl -u 'admin' -X PUT 'http:.*\/curled'$/).waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Close' }).click()
  noErrors()
})

test('sign out', async () => {
  await page.getByRole('button', { name: 'Account and colours' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  noErrors()
})

test('a session that ends leads to the form', async () => {
  expect(/401 (GET|POST) |status of 401/)
  await signIn()
  await page.getByRole('link', { name: 'Replications' }).click() // it asks again and again
  await page.getByRole('heading', { name: 'No replication' }).waitFor()
  await page.context().clearCookies()
  await page.getByRole('alert').getByText('The session has ended.').waitFor()
  noErrors()
})
