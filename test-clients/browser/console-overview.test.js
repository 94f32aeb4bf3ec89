// The console's first page: plots of the last hour, what needs somebody, what runs; a server that goes away and is back.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { startServer } from '../lib/server.js'
import { accessible, api, base, expect, noErrors, page, pictures, server, signIn, until } from './console.js'

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

test('nodes of a cluster stand beside each other, and one that dies says so', async () => {
  expect(/503 GET .*_overview|status of 503/)
  // A cluster takes FoundationDB: here the second node is a server of its own, and what it answers is handed on as a
  // node hands on what another one answers.
  const beside = await startServer()
  const { origin } = new URL(beside.url)
  const authorization = 'Basic ' + btoa('admin:password')
  const { node } = await api('/_node/_local/_overview')
  const other = 'settee@10.0.0.2'
  await page.route('**/_membership', route => route.fulfill({ json: { all_nodes: [node, other], cluster_nodes: [node, other] } }))
  await page.route(`**/_node/${encodeURIComponent(other)}/_overview*`, async route => {
    const { search } = new URL(route.request().url())
    const answer = await fetch(`${origin}/_node/_local/_overview${search}`, { headers: { authorization } }).catch(() => undefined)
    if (answer) await route.fulfill({ json: { ...await answer.json(), node: other } })
    else await route.fulfill({ status: 503, json: { error: 'service_unavailable', reason: `The node ${other} does not answer.` } })
  })
  await page.reload()
  const nodes = page.getByRole('grid', { name: 'Nodes' })
  await nodes.getByRole('row', { name: new RegExp(`${node}.*up `) }).waitFor()
  await nodes.getByRole('row', { name: /10\.0\.0\.2.*up / }).click()
  await page.getByText(new RegExp(`^${other} · `)).waitFor()
  await accessible()
  await beside.kill()
  await nodes.getByRole('row', { name: /10\.0\.0\.2.*away: .*does not answer/ }).waitFor()
  await nodes.getByRole('row', { name: new RegExp(`${node}.*up `) }).click()
  await page.getByText(new RegExp(`^${node} · `)).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await page.goto(`${base}/_console/`)
  await page.getByRole('img', { name: 'Memory' }).waitFor()
  noErrors()
})

test('while the server is away the page says so, and goes on when it is back', async () => {
  expect(/Failed to load resource: net::/)
  await server.kill()
  await page.getByText('The server does not answer.').waitFor()
  assert.ok(await page.getByRole('img', { name: 'Memory' }).isVisible(), 'what was seen stays')
  await server.restart()
  await page.getByText('The server does not answer.').waitFor({ state: 'detached' })
  noErrors()
})
