// Many documents at once: marks, import and export; what was deleted; the database as a whole.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accessible, api, base, browser, expect, noErrors, open, page, pictures, signIn, until, watched } from './console.js'

const grid = () => page.getByRole('grid', { name: 'Documents' })
const dialog = name => page.getByRole('dialog', { name })
let dir

async function chooseFromMenu (item) {
  await page.getByRole('button', { name: 'Import and export' }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

async function importFile (name, text) {
  await writeFile(join(dir, name), text)
  await chooseFromMenu('Import…')
  await page.getByLabel('File (or drop one here)').setInputFiles(join(dir, name))
}

async function exported (click) {
  const [file] = await Promise.all([page.waitForEvent('download'), click()])
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') }
}

test('an administrator signs in', async () => {
  dir = await mkdtemp(join(tmpdir(), 'console-import-'))
  await api('/goods', { method: 'PUT' })
  await signIn()
})

test('documents come out of files with lines, arrays and rows, and what is refused is listed', async () => {
  // One document that is none to the server has its request refused, which is made again in halves.
  expect(/400 POST .*goods.*_bulk_docs|status of 400/)
  await open('databases/goods')
  const lines = Array.from({ length: 2500 }, (_, i) => JSON.stringify({ _id: `line:${i}`, n: i }))
  lines[1200] = '{"broken": '
  lines[1300] = '{"_id": "_wrong"}'
  await importFile('goods.jsonl', lines.join('\n'))
  await dialog('Import into goods').getByText('Ended: 2,498 documents written, 2 rows refused').waitFor()
  await page.getByRole('row', { name: /^1201 / }).waitFor()
  await page.getByRole('row', { name: /^1301 _wrong .*underscore/ }).waitFor()
  await accessible()
  await pictures('console-import', ['wide', 'phone'])
  await page.getByRole('button', { name: 'Close' }).click()
  await grid().getByRole('row', { name: 'line:0' }).first().waitFor()
  await importFile('goods.json', JSON.stringify([{ _id: 'array:1', deep: { a: [1] } }, { _id: 'line:7', n: 'new' }], null, 2))
  await dialog('Import into goods').getByText('Ended: 1 document written, 1 row refused').waitFor()
  await page.getByRole('row', { name: /^2 line:7 .*conflict/ }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await writeFile(join(dir, 'goods.csv'), '_id,n,text\nrow:1,1.5,"a ""quoted"", text"\nline:7,new,\n')
  await chooseFromMenu('Import…')
  await page.getByLabel('Replace documents that exist').check()
  await accessible()
  await page.getByLabel('File (or drop one here)').setInputFiles(join(dir, 'goods.csv'))
  await dialog('Import into goods').getByText('Ended: 2 documents written').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  assert.equal((await api('/goods/line:7')).n, 'new')
  const { n, text } = await api('/goods/row:1')
  assert.deepEqual({ n, text }, { n: 1.5, text: 'a "quoted", text' })
  assert.equal((await api('/goods')).doc_count, 2500)
  noErrors()
})

test('documents go into files: all of them, those of a filter, those that are marked', async () => {
  await open('databases/goods')
  await chooseFromMenu('Export…')
  await accessible()
  const all = await exported(() => page.getByRole('button', { name: 'Export', exact: true }).click())
  assert.equal(all.name, 'goods.jsonl')
  const docs = all.text.trim().split('\n').map(line => JSON.parse(line))
  assert.equal(docs.length, 2500)
  assert.deepEqual(docs[0], { _id: 'array:1', deep: { a: [1] } })
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('searchbox', { name: 'Filter' }).fill('{"n": {"$gte": 2480, "$lt": 2500}}')
  await page.getByText(/^20 documents/).waitFor()
  await chooseFromMenu('Export…')
  await page.getByLabel('Values separated by commas').check()
  const some = await exported(() => page.getByRole('button', { name: 'Export', exact: true }).click())
  assert.equal(some.name, 'goods.csv')
  assert.equal(some.text.trim().split('\r\n').length, 21)
  assert.match(some.text, /^_id,n\r\nline:2480,2480\r\n/)
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('searchbox', { name: 'Filter' }).fill('row:')
  await page.getByText(/^1 document /).waitFor()
  await page.getByRole('checkbox', { name: 'Mark row:1' }).check()
  await page.getByRole('button', { name: 'Export marked' }).click()
  const one = await exported(() => page.getByRole('button', { name: 'Export', exact: true }).click())
  assert.deepEqual(JSON.parse(one.text), { _id: 'row:1', n: 1.5, text: 'a "quoted", text' })
  await page.getByRole('button', { name: 'Close' }).click()
  noErrors()
})

test('marked documents are deleted after a question that says how many, and brought back', async () => {
  await open('databases/goods?filter=line:1')
  await grid().getByRole('row', { name: 'line:1', exact: false }).first().waitFor()
  await page.getByRole('checkbox', { name: 'Mark all rows' }).check()
  await page.getByText('100 documents marked').waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Delete marked' }).click()
  await dialog('Delete 100 documents?').getByRole('button', { name: 'Delete 100 documents' }).click()
  await until('/goods', info => info.doc_del_count === 100)
  await pictures('console-bulk', ['wide', 'phone'])
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.getByText('100 documents restored.').waitFor()
  assert.equal((await api('/goods')).doc_count, 2500)
  noErrors()
})

test('a document that was deleted is found and restored', async () => {
  const doc = await api('/goods/row:1')
  await api(`/goods/row:1?rev=${doc._rev}`, { method: 'DELETE' })
  await open('databases/goods')
  await page.getByRole('tab', { name: 'Deleted' }).click()
  await page.getByRole('grid', { name: 'Deleted documents' }).getByRole('row', { name: 'row:1' }).click()
  await page.getByText(/"text": "a \\"quoted\\", text"/).waitFor()
  await accessible()
  await pictures('console-deleted', ['wide', 'phone'])
  await page.getByRole('button', { name: 'Restore' }).click()
  await until('/goods/row:1', now => now.n === 1.5)
  await page.getByRole('heading', { name: 'Nothing was deleted' }).waitFor()
  noErrors()
})

test('a database says what it holds, is compacted, and goes when its name is typed', async () => {
  await open('databases/goods')
  await page.getByRole('tab', { name: 'About' }).click()
  await page.getByText('Size on disk').waitFor()
  await page.getByText('2,500', { exact: true }).waitFor()
  assert.match(await page.getByRole('link', { name: 'Change the rights' }).getAttribute('href'), /users\?db=goods$/)
  await accessible()
  await pictures('console-about', ['wide', 'phone'])
  await page.getByRole('button', { name: 'Compact' }).click()
  await page.getByText('Compaction has begun.').waitFor()
  await page.getByRole('button', { name: 'Delete database' }).click()
  const ask = dialog('Delete goods?')
  await ask.getByText(/2,500 documents, .* and all indexes go/).waitFor()
  assert.ok(await ask.getByRole('button', { name: 'Delete database' }).isDisabled())
  await accessible()
  await ask.getByLabel('Type goods to delete it').fill('goods')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Databases' }).waitFor()
  await until('/goods', answer => answer.error === 'not_found')
  noErrors()
})

test('a member sees what a member may', async () => {
  await api('/_users/org.couchdb.user:mia', { method: 'PUT', body: { name: 'mia', password: 'secret', roles: [], type: 'user' } })
  await api('/ours', { method: 'PUT' })
  await api('/ours/_security', { method: 'PUT', body: { members: { names: ['mia'] } } })
  await api('/ours/one', { method: 'PUT', body: { a: 1 } })
  await api('/theirs', { method: 'PUT' })
  const context = await browser.newContext()
  const hers = await watched(context)
  expect(/403 GET .*theirs|401 GET .*_all_dbs|status of 40[13]/)
  await signIn('mia', 'secret', hers)
  await hers.goto(`${base}/_console/databases`)
  await hers.getByLabel('Name of a database').fill('ours')
  await hers.keyboard.press('Enter')
  await hers.getByRole('row', { name: 'one' }).waitFor()
  await hers.getByRole('tab', { name: 'About' }).click()
  await hers.getByText('mia', { exact: true }).last().waitFor()
  assert.equal(await hers.getByRole('button', { name: 'Compact' }).count(), 0)
  assert.equal(await hers.getByRole('button', { name: 'Delete database' }).count(), 0)
  await hers.goto(`${base}/_console/databases/theirs`)
  await hers.getByRole('alert').getByText(/Reading the documents failed/).waitFor()
  await context.close()
  await rm(dir, { recursive: true })
  noErrors()
})
