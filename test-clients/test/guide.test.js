// The pages of HTML in the guides, run with PouchDB against a server: what stands in the page is shown, and what is
// added on either side comes to the other.
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import PouchDB from 'pouchdb'

import { send, startServer, until } from '../lib/server.js'

let server, dir

before(async () => {
  server = await startServer()
  dir = await mkdtemp(join(tmpdir(), 'settee-guide-'))
})

after(async () => {
  await server?.stop()
  await rm(dir, { recursive: true, force: true })
})

// Runs the script of the page in a guide, with the server's address in place of the page's, and returns the elements of
// the page and the script's variables that are named.
async function openPage (guide, names) {
  const text = await readFile(new URL(`../../docs/${guide}`, import.meta.url), 'utf8')
  const pages = [...text.matchAll(/^```html \S+\n(.*?)^```$/gms)]
  assert.equal(pages.length, 1, `pages in ${guide}`)
  const page = pages[0][1]
  const elements = new Map([...page.matchAll(/<\w+ id="(\w+)">/g)].map(match => [match[1], {}]))
  const document = { getElementById: id => elements.get(id) }
  const [, script] = page.match(/<script>\n(.*)<\/script>/s)
  const address = 'http://127.0.0.1:5984/'
  assert.ok(script.includes(address), guide)
  const Browser = function (name, options) { // whose own databases are in the directory
    return new PouchDB(name.includes('://') ? name : join(dir, name), options)
  }
  const run = new Function('PouchDB', 'document',
    `${script.replaceAll(address, `${new URL(server.url).origin}/`)}; return { ${names.join(', ')} }`)
  return { elements, ...run(Browser, document) }
}

test('the page of the first five minutes', async () => {
  await send(server, 'PUT', '/shop')
  await send(server, 'PUT', '/shop/tea', { type: 'good', price: 4, stock: 20 })
  const { elements, local, remote } = await openPage('start.md', ['local', 'remote'])
  await until('tea is shown', () => elements.get('goods').innerHTML === '<li>tea: 20</li>')
  await local.put({ _id: 'rice', type: 'good', price: 2, stock: 50 })
  await until('rice is on the server', () => remote.get('rice').then(doc => doc.stock === 50, () => false))
  await until('both are shown', () => elements.get('goods').innerHTML === '<li>rice: 50</li><li>tea: 20</li>')
  await Promise.all([local.destroy(), remote.close()])
})

test('the page of the guide for PouchDB', async () => {
  await send(server, 'PUT', '/tasks')
  await send(server, 'PUT', '/tasks/_security', { admins: { names: [], roles: [] }, members: { names: [], roles: ['team'] } })
  await send(server, 'PUT', '/_users/org.couchdb.user:ann', { name: 'ann', password: 'apple', type: 'user', roles: ['team'] })
  await send(server, 'PUT', '/tasks/_design/rules', { language: 'query', validate_doc_update: { newDoc: { title: { $type: 'string' } } } })
  const { elements, local, remote, sync, add } = await openPage('guides/pouchdb.md', ['local', 'remote', 'sync', 'add'])
  await add('Buy tea')
  await until('the task is on the server', async () => (await remote.allDocs()).rows.length === 2)
  await until('it says so', () => elements.get('state').textContent === 'up to date')
  await send(server, 'PUT', '/tasks/t1', { title: 'Cook rice', done: true })
  await until('what came is shown', () => /<li>☐ Buy tea<\/li><li>☑ Cook rice<\/li>/.test(elements.get('tasks').innerHTML))
  await local.put({ _id: 'untitled' })
  await until('a refusal is shown', () => elements.get('refused').textContent === 'refused: untitled')
  sync.cancel()
  await until('the replication has ended', () => sync.canceled)
  await Promise.all([local.destroy(), remote.close()])
})
