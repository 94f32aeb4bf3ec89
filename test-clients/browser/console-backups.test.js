// The console's page of backups: a database into a file, the file into another database, and both compared.
import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accessible, api, expect, noErrors, open, page, pictures, signIn, until } from './console.js'

const dir = await mkdtemp(join(tmpdir(), 'settee-backups-'))
const archive = join(dir, 'orders.settee')
after(() => rm(dir, { recursive: true }))

const text = words => page.getByText(words)

async function restoreInto (db, file = archive) {
  await page.getByLabel('Archive').setInputFiles(file)
  // The name in the archive stands there once it is read.
  await page.waitForFunction(() => document.querySelector('[aria-label="Into the database"]').value !== '')
  await page.getByLabel('Into the database').fill(db)
  await page.getByLabel('Into the database').press('Enter')
}

test('the archive of a database is downloaded', async () => {
  await api('/orders', { method: 'PUT' })
  await api('/orders/_bulk_docs', { method: 'POST', body: { docs: [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }] } })
  await api('/orders/_security', { method: 'PUT', body: { members: { names: [], roles: ['sales'] } } })
  await signIn()
  await page.getByRole('link', { name: 'Backups' }).click()
  await accessible()
  await page.getByLabel('Database to save').fill('orders')
  await page.getByLabel('Database to save').press('Enter')
  await text('2 documents').waitFor()
  const begun = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download orders' }).click()
  const download = await begun
  assert.equal(download.suggestedFilename(), 'orders.settee')
  await download.saveAs(archive)
  const lines = (await readFile(archive, 'utf8')).trimEnd().split('\n')
  assert.equal(JSON.parse(lines[0]).db, 'orders')
  assert.equal(JSON.parse(lines.at(-1)).documents, 2)
  noErrors()
})

test('an archive is restored into a new database with its rights, and compared', async () => {
  await restoreInto('again')
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await text('2 documents, 2 revisions and 0 attachments. The database was made for it.').waitFor()
  await text('Compared: again has all of the archive').waitFor()
  await until('/again/_security', security => security.members?.roles.join() === 'sales')
  assert.equal((await api('/again/b')).n, 2)
  await accessible()
  await pictures('console-backups')
  noErrors()
})

test('what differs from an archive is listed, and comparing writes nothing', async () => {
  await api('/less', { method: 'PUT' })
  await api('/less/a', { method: 'PUT', body: { n: 1 } })
  await restoreInto('less')
  await page.getByRole('button', { name: 'Compare only' }).click()
  await text('1 revision of the archive is missing in less, or different there').waitFor()
  assert.equal((await api('/less/b')).error, 'not_found')
  await accessible()
  noErrors()
})

test('a restore is cancelled, and begun again brings the rights as well', async () => {
  expect(/status of 412|412 PUT .*\/late$/) // it is there by then
  await page.route('**/_restore*', () => {}) // never answered
  await restoreInto('late')
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByRole('progressbar', { name: 'Restoring' }).waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await text('late has a part of the archive at the most').waitFor()
  await page.unroute('**/_restore*')
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await text('Compared: late has all of the archive').waitFor()
  await until('/late/_security', security => security.members?.roles.join() === 'sales')
  noErrors()
})

test('an archive that is cut off is refused in words, and so is what is none', async () => {
  expect(/status of 4(00|12)|400 POST .*_restore|412 PUT .*\/less$/)
  const cut = join(dir, 'cut.settee')
  await writeFile(cut, (await readFile(archive, 'utf8')).split('\n').slice(0, 2).join('\n') + '\n')
  await open('backups')
  await restoreInto('less', cut)
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByRole('alert').getByText('Restoring failed.').waitFor()
  await text('less has a part of the archive at the most').waitFor()
  const other = join(dir, 'notes.txt')
  await writeFile(other, 'hello\n')
  await page.getByLabel('Archive').setInputFiles(other)
  await text('notes.txt is no archive of a database.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Restore', exact: true }).isDisabled(), true)
  await accessible()
  noErrors()
})

test('who is signed in by a token downloads, too', async () => {
  await page.evaluate(() => fetch('/_session', { method: 'DELETE' }))
  const word = value => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const key = Buffer.from('a key of some length for signing')
  await api('/_node/_local/_config/jwt_keys/hmac:_default', { method: 'PUT', body: JSON.stringify(key.toString('base64')) })
  await api('/_node/_local/_config/chttpd/authentication_handlers', {
    method: 'PUT', body: JSON.stringify('{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}')
  })
  const signed = `${word({ alg: 'HS256', typ: 'JWT' })}.${word({ sub: 'ann', exp: 4e9, '_couchdb.roles': ['_admin'] })}`
  await page.evaluate(token => sessionStorage.setItem('settee-token', token), `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`)
  await open('backups?db=orders')
  const begun = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download orders' }).click()
  assert.equal((await begun).suggestedFilename(), 'orders.settee')
  noErrors()
})
