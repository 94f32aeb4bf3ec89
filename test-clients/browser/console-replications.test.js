// The console's page of replications: one copy, one that lasts, one that fails, pause, resume, delete.
import { test } from 'node:test'
import { accessible, api, base, noErrors, open, page, pictures, signIn, until } from './console.js'

const row = text => page.getByRole('grid', { name: 'Replications' }).getByRole('row').filter({ hasText: text })

// Fills one end of the form: a database of this server.
async function here (label, name) {
  const group = page.getByRole('group', { name: label, exact: true })
  await group.getByLabel(`${label}: database`).fill(name)
  const password = group.getByLabel(`${label}: password`)
  if (await password.count() > 0) await password.fill('password')
}

test('a database is copied once', async () => {
  await api('/orders', { method: 'PUT' })
  for (let i = 0; i < 20; i++) await api('/orders', { method: 'POST', body: { i } })
  await signIn()
  await page.getByRole('link', { name: 'Replications' }).click()
  await page.getByRole('heading', { name: 'No replication' }).waitFor()
  await accessible()
  await pictures('console-replications-empty')
  await page.getByRole('button', { name: 'Create replication' }).first().click()
  await here('From', 'orders')
  await here('To', 'copy')
  await accessible()
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
  await page.getByText('Copied: 20 documents were written.').waitFor()
  await until('/copy', info => info.doc_count === 20)
  noErrors()
})

test('a replication that lasts is made, paused, resumed', async () => {
  await page.getByRole('button', { name: 'Create replication' }).first().click()
  await page.getByLabel('Keep in step, also after a restart').check()
  await here('From', 'orders')
  await here('To', 'mirror')
  await page.getByLabel('Name', { exact: true }).fill('to-mirror')
  await pictures('console-replications-form', ['wide', 'phone'])
  await page.getByRole('button', { name: 'Start' }).click()
  await row('mirror').getByText('running').click()
  await until('/mirror', info => info.doc_count === 20)
  await page.getByRole('heading', { name: 'History' }).waitFor()
  await accessible()
  await pictures('console-replications')
  await page.getByRole('button', { name: 'Pause' }).click()
  await row('mirror').getByText('paused').waitFor()
  await until('/_scheduler/docs', answer => answer.total_rows === 0)
  await api('/orders', { method: 'POST', body: { late: true } })
  await page.getByRole('button', { name: 'Resume' }).click()
  await row('mirror').getByText('running').waitFor()
  await until('/mirror', info => info.doc_count === 21)
  noErrors()
})

test('what is wrong with a replication is said in words', async () => {
  await api('/_replicator/broken', {
    method: 'PUT', body: { source: 'http://127.0.0.1:1/none', target: `${base}/copy`, continuous: true }
  })
  await row('127.0.0.1:1').getByText('crashing').click()
  await page.getByText('Nothing listens at that address').waitFor()
  await accessible()
  noErrors()
})

test('a replication is deleted after a question, one that is paused as well', async () => {
  await row('mirror').click()
  await page.getByRole('button', { name: 'Pause' }).click()
  await row('mirror').getByText('paused').waitFor()
  for (const name of ['127.0.0.1:1', 'mirror']) {
    await row(name).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row(name).waitFor({ state: 'detached' })
  }
  await open('replications')
  await page.getByRole('heading', { name: 'No replication' }).waitFor()
  noErrors()
})
