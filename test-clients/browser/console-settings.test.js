// The console's page of settings: find one, change it, set it back; what cannot be changed says why.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accessible, api, expect, noErrors, open, page, pictures, signIn, until } from './console.js'

const row = name => page.getByRole('row', { name })

test('a setting is found by its meaning, changed, and listed with those that were changed', async () => {
  await signIn()
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByLabel('Words of name, value or meaning').fill('longest request uri')
  await row('chttpd / max_uri_length').click()
  await page.getByText('nothing sets it').waitFor()
  await page.getByLabel('New value').fill('8000')
  await page.getByRole('button', { name: 'Save' }).click()
  await until('/_node/_local/_config/chttpd/max_uri_length', value => value === '8000')
  await page.getByText(/^the file .*local\.ini$/).waitFor()
  await page.getByLabel('Words of name, value or meaning').fill('')
  await accessible()
  await pictures('console-settings')
  await page.getByLabel('Only those that were changed').check()
  await row('chttpd / max_uri_length').getByText('8000').waitFor()
  assert.equal(await row('log / level').count(), 0)
  await accessible()
  noErrors()
})

test('what the server refuses stands beside the field', async () => {
  expect(/status of 400|400 PUT .*chttpd\/port/)
  await open('settings?setting=chttpd/port')
  const field = page.getByLabel('New value')
  const { settings } = await api('/_node/_local/_settings')
  const { value } = settings.find(one => one.section === 'chttpd' && one.key === 'port')
  await field.fill('no port')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.field.wrong').getByText('"no port" is no port').waitFor()
  await accessible()
  assert.equal(await api('/_node/_local/_config/chttpd/port'), value)
  noErrors()
})

test('a setting goes back to its default after a question that names it', async () => {
  await open('settings?setting=chttpd/max_uri_length')
  await page.getByRole('button', { name: 'Back to the default' }).click()
  await page.getByRole('dialog').getByText('from 8000 it goes back to infinity').waitFor()
  await accessible()
  await page.getByRole('dialog').getByRole('button', { name: 'Set back' }).click()
  await until('/_node/_local/_settings', ({ settings }) => settings.some(one => one.key === 'max_uri_length' && one.origin === 'default'))
  await page.getByText('nothing sets it').waitFor()
  noErrors()
})

test('a section with free keys takes a new one, a secret is not shown, a fixed one says why', async () => {
  await open('settings?setting=jwt_keys/')
  await page.getByLabel('New key').fill('hmac:one')
  await page.getByLabel('Value', { exact: true }).fill('aGVsbG8=')
  await page.getByRole('button', { name: 'Add' }).click()
  await until('/_node/_local/_config/jwt_keys/hmac%3Aone', value => value === 'aGVsbG8=')
  await page.getByRole('heading', { name: 'jwt_keys/hmac:one' }).waitFor()
  assert.equal(await page.getByLabel('New value').inputValue(), '')
  assert.equal(await page.getByText('aGVsbG8=').count(), 0)
  await open('settings?setting=feature_flags/partitioned||*')
  await page.getByText('cannot be changed over HTTP').waitFor()
  assert.equal(await page.getByLabel('New value').count(), 0)
  await open('settings?setting=admins/admin')
  await page.locator('.inspector').getByRole('link', { name: 'Users and rights' }).waitFor()
  assert.equal(await page.getByLabel('New value').count(), 0)
  noErrors()
})
