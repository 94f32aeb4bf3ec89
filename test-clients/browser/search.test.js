// Fauxton's pages of full-text search, in Chromium: make an index of _search, query it, edit it with another analyzer,
// clone and delete it, query a partition; make Mango's text indexes from its templates, and query one.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { api, errors, open, page, picture, setCode, settled, until } from './fauxton.js'

const NAME = 'fruit'
const PARTITIONED = 'shelves'
const FRUIT = [
  { _id: 'apple', name: 'Apple', note: 'running out' },
  { _id: 'pear', name: 'Pear', note: 'green' },
  { _id: 'plum', name: 'Plum', note: 'runs well' }
]

// Runs a query on the page of a search index, and answers the ids of the documents that it shows.
async function query (text) {
  await page.fill('#search-index-preview-form input', text)
  await page.click('#search-index-query-button')
  await page.waitForFunction(text => decodeURIComponent(globalThis.location.hash).endsWith(`?${text}`), text)
  await page.waitForSelector('[data-select="search-result-set"]')
  await settled()
  const shown = await page.innerText('[data-select="search-result-set"]')
  return [...shown.matchAll(/^id:"(.*)"$/gm)].map(match => match[1]).sort()
}

test('two databases with documents', async () => {
  for (const [name, options, prefix] of [[NAME, '', ''], [PARTITIONED, '?partitioned=true', 'shelf:']]) {
    await api(`/${name}${options}`, { method: 'PUT' })
    const docs = FRUIT.map(doc => ({ ...doc, _id: prefix + doc._id }))
    await api(`/${name}/_bulk_docs`, { method: 'POST', body: JSON.stringify({ docs }) })
  }
})

test('make a search index', async () => {
  await open(`/database/${NAME}/_all_docs`)
  await page.click('#new-design-docs-button a')
  await page.locator(`#new-design-docs-button a[href="#/database/${NAME}/new_search"]`).click()
  await page.fill('#new-ddoc', 'shop')
  await page.fill('#search-name', 'fruit')
  await setCode('function (doc) { index("name", doc.name); index("note", doc.note) }')
  await picture('search-new')
  await page.click('#save-index')
  await page.waitForSelector('#shop_fruit')
  await settled()
  assert.match(page.url(), /_design\/shop\/_search\/fruit$/)
})

test('query it', async () => {
  assert.deepEqual(await query('name:pear OR note:runs'), ['pear', 'plum'])
  assert.deepEqual(await query('note:run'), [])
  await picture('search-query')
  const before = errors.length
  await page.fill('#search-index-preview-form input', 'name:(')
  await page.click('#search-index-query-button')
  await page.waitForSelector("text=Search failed: Cannot parse 'name:('")
  await settled()
  errors.push(...errors.splice(before).filter(e => !/400/.test(e)))
})

test('another analyzer', async () => {
  await open(`/database/${NAME}/_design/shop/_search/fruit/edit`)
  await page.waitForSelector('#save-index')
  await page.click('label[for="multiple-analyzer"]')
  await page.selectOption('#defaultAnalyzer', 'english')
  await picture('search-edit')
  await page.click('#save-index')
  await until(`/${NAME}/_design/shop`, ddoc => ddoc.indexes.fruit.analyzer?.default === 'english')
  await settled()
  await open(`/database/${NAME}/_design/shop/_search/fruit`)
  assert.deepEqual(await query('note:run'), ['apple', 'plum'])
})

test('clone it, and delete the clone', async () => {
  await page.click('#nav-design-function-shopindexes .index-menu-toggle')
  await page.click('.fonticon-files-o')
  await page.fill('#new-index-name', 'copy')
  await page.click('.clone-index-modal .btn-primary, .clone-index-modal .btn-cf-primary')
  await page.waitForSelector('#shop_copy')
  await settled()
  const ddoc = await api(`/${NAME}/_design/shop`)
  assert.deepEqual(ddoc.indexes.copy, ddoc.indexes.fruit)
  await page.locator('li', { has: page.locator('#shop_copy') }).last().locator('.index-menu-toggle').click()
  await page.click('.fonticon-trash >> visible=true')
  await page.click('.modal-dialog .btn-primary, .modal-dialog .btn-cf-primary')
  await until(`/${NAME}/_design/shop`, ddoc => !ddoc.indexes.copy)
  await settled()
})

test('query a partition', async () => {
  const ddoc = { indexes: { fruit: { index: 'function (doc) { index("name", doc.name) }' } } }
  await api(`/${PARTITIONED}/_design/shop`, { method: 'PUT', body: JSON.stringify(ddoc) })
  await open(`/database/${PARTITIONED}/_partition/shelf/_design/shop/_search/fruit`)
  assert.deepEqual(await query('name:p*'), ['shelf:pear', 'shelf:plum'])
  await open(`/database/${PARTITIONED}/_partition/none/_design/shop/_search/fruit`)
  assert.deepEqual(await query('name:p*'), [])
})

test("Mango's text indexes from the templates", async () => {
  // each in a database of its own: with several text indexes a query has to name one
  const templates = {
    one: 'Single field (text)', all: 'All fields (text)', [NAME]: 'All fields with default field (text)'
  }
  for (const [name, template] of Object.entries(templates)) {
    await api(`/${name}`, { method: 'PUT' })
    // the templates of text indexes are offered once Fauxton has seen that the server has `search`
    await open(`/database/${name}/_all_docs`)
    await page.waitForSelector(`a[href="#/database/${name}/new_search"]`, { state: 'attached' })
    await page.evaluate(name => { globalThis.location.hash = `/database/${name}/_index` }, name)
    await page.waitForSelector('.ace_editor')
    await page.focus('.mango-select .Select-input')
    await page.keyboard.press('ArrowDown')
    await page.locator('.Select-option', { hasText: template }).click()
    await settled()
    await page.click('#create-index-btn')
    await until(`/${name}/_index`, list => list.indexes.some(index => index.type === 'text'))
    await settled()
  }
  await picture('mango-text-index')
})

test('a Mango query with a text index', async () => {
  await open(`/database/${NAME}/_find`)
  await page.waitForSelector('.ace_editor')
  await setCode('{"selector": {"$text": "runs"}}')
  await page.click('text=Run Query')
  await page.waitForSelector('text=plum')
  await settled()
  await page.click('#explain-btn')
  await page.waitForSelector('text=/all-text/')
  await picture('mango-text-explain')
  await settled()
})

test('no error in the console', () => assert.deepEqual(errors, []))
