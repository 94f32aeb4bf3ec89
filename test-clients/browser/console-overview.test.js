// The console's first page: plots of the last hour, what needs somebody, what runs; a server that goes away and is back.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accessible, api, base, expect, noErrors, page, pictures, signIn, until } from './console.js'

test('the overview says what the server does', async () => {
  await signIn()
  await page.getByText('Nothing runs in the background').waitFor()
  await api('/orders', { method: 'PUT' })
  for (let i = 0; i < 100; i++) await api('/orders', { method: 'POST', body: { i } })
  await page.getByRole('img', { name: /^Documents: read .*, written / }).waitFor({ timeout: 40_000 })
  for (const plot of ['Answers', 'How long answers take', 'Memory', 'Size of the store', 'JavaScript workers', 'Workers of event functions']) {
    await page.getByRole('img', { name: `${plot}:` }).waitFor()
  }
  await page.getByText('Free on its disk').waitFor()
  await accessible()
  noErrors()
})

test('what needs somebody is said with what to do', async () => {
  await api('/_node/_local/_config/couchdb/max_dbs_open', { method: 'PUT', body: '"77"' })
  const { warnings } = await until('/_node/_local/_overview', answer => answer.warnings.some(one => one.id === 'setting_without_effect'))
  const warning = warnings.find(one => one.id === 'setting_without_effect')
  await page.getByRole('region', { name: 'Warnings' }).getByText(warning.text).waitFor()
  await page.getByRole('region', { name: 'Warnings' }).getByText(warning.do).waitFor()
  await accessible()
  await api('/_node/_local/_config/couchdb/max_dbs_open', { method: 'DELETE' })
  noErrors()
})

test('what runs has its progress', async () => {
  await api('/_replicator/one', {
    method: 'PUT',
    body: { source: `${base}/orders`.replace('//', '//admin:password@'), target: `${base}/copy`.replace('//', '//admin:password@'), create_target: true, continuous: true }
  })
  await page.getByRole('grid', { name: 'What runs now' }).getByText('Replicates').waitFor()
  await accessible()
  await pictures('console-overview')
  noErrors()
})

test('while the server is away the page says so, and goes on when it is back', async () => {
  expect(/Failed to load resource: net::|ERR_FAILED|ERR_INTERNET_DISCONNECTED/)
  await page.context().setOffline(true)
  await page.getByText('The server does not answer.').waitFor()
  assert.ok(await page.getByRole('img', { name: 'Memory' }).isVisible(), 'what was seen stays')
  await page.context().setOffline(false)
  await page.getByText('The server does not answer.').waitFor({ state: 'detached' })
  noErrors()
})
