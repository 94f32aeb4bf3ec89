// The frame of the console: sign in and out, the palette, colours, the list of databases, a server that goes away.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
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

test('each page fits a small phone, and leads to a page of the manual', async () => {
  const width = 360
  await page.setViewportSize({ width, height: 740 })
  // Nothing makes the page wider than the screen, and what can be used can be reached: lists and code scroll by themselves.
  const fits = async title => {
    const beyond = await page.evaluate(width => [...document.querySelectorAll('button, input, select, textarea, a[href]')]
      .filter(one => one.checkVisibility() && !one.closest('.table, .code, .cm-editor, .revisions, .tabs, .skip'))
      .filter(one => one.getBoundingClientRect().right > width || one.getBoundingClientRect().left < 0)
      .map(one => one.outerHTML.slice(0, 120)), width)
    assert.deepEqual(beyond, [], `${title}: beyond the edge`)
    const wide = await page.evaluate(() => Math.max(...[document.documentElement, ...document.querySelectorAll('.page-body, .inspector')].map(one => one.scrollWidth)))
    assert.ok(wide <= width, `${title} is ${wide} wide`)
  }
  await open('')
  const rail = page.getByRole('navigation', { name: 'Pages' })
  for (let i = 0; ; i++) {
    await page.getByRole('button', { name: 'Pages' }).click()
    const links = rail.getByRole('link')
    if (i === await links.count()) break
    const title = await links.nth(i).innerText()
    await links.nth(i).click()
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await fits(title)
    const manual = await page.getByRole('link', { name: /^Manual/ }).first().getAttribute('href')
    const [file] = manual.split('/main/').at(-1).split('#')
    assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), manual)
  }
  await api('/many0000/a-document-with-a-long-id-that-has-no-place-to-break', { method: 'PUT', body: { text: 'x'.repeat(200) } })
  for (const place of ['?doc=a-document-with-a-long-id-that-has-no-place-to-break', '?part=deleted', '?part=about']) {
    await open(`databases/many0000${place}`)
    await page.getByRole('heading', { name: 'many0000' }).waitFor()
    if (place.includes('doc=')) await page.locator('.inspector .cm-content').waitFor()
    else await page.locator('.page-body :is(dl, .table)').first().waitFor()
    await fits(place)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
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
