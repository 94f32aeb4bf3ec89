// One document in depth: its revisions as a tree, its conflicts, its attachments.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accessible, api, noErrors, open, page, pictures, signIn, until } from './console.js'

const conflicted = id => ({
  new_edits: false,
  docs: [
    { _id: id, _rev: '1-aaaaaaaa', name: 'Anna', city: 'Riga' },
    { _id: id, _rev: '2-bbbbbbbb', _revisions: { start: 2, ids: ['bbbbbbbb', 'aaaaaaaa'] }, name: 'Anna', city: 'Tartu', phone: 1 },
    { _id: id, _rev: '2-cccccccc', _revisions: { start: 2, ids: ['cccccccc', 'aaaaaaaa'] }, _deleted: true },
    {
      _id: id, _rev: '4-dddddddd', _revisions: { start: 4, ids: ['dddddddd', 'gone3333', 'gone2222', 'aaaaaaaa'] },
      name: 'Anna B.', city: 'Riga'
    }
  ]
})
const revision = name => page.getByRole('group', { name: 'Revisions' }).getByRole('button', { name })

test('an administrator signs in to a server that has conflicts', async () => {
  await api('/people', { method: 'PUT' })
  for (const id of ['anna', 'berta', 'carla', 'dora']) await api('/people/_bulk_docs', { method: 'POST', body: conflicted(id) })
  await signIn()
})

test('revisions are a tree: who wins, what is deleted, what is gone', async () => {
  await open('databases/people?doc=anna')
  await page.getByRole('tab', { name: 'Revisions' }).click()
  await revision('4-dddddddd, its body is there, the winner').waitFor()
  await revision('3-gone3333, its body is gone').waitFor()
  await revision('2-cccccccc, tombstone, a leaf').waitFor()
  await revision('2-bbbbbbbb, its body is there, a leaf').click()
  await page.getByText('"phone": 1').waitFor()
  await accessible()
  await revision('4-dddddddd').press('Enter')
  await page.getByRole('textbox', { name: '4-dddddd' }).getByText('4-dddddddd').waitFor()
  await accessible()
  await pictures('console-revisions')
  assert.match(decodeURIComponent(page.url()), /revs=2-bbbbbbbb,4-dddddddd/)
  noErrors()
})

test('another revision is made the winner', async () => {
  await open('databases/people?doc=anna&show=revisions&revs=2-bbbbbbbb')
  await page.getByRole('button', { name: 'Make winner' }).click()
  await page.getByRole('dialog').getByText(/the branch it was on ends/).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Make it the winner' }).click()
  const doc = await until('/people/anna?conflicts=true', now => now.city === 'Tartu' && !now._conflicts)
  assert.match(doc._rev, /^5-/)
  await revision('2-bbbbbbbb, its body is there').waitFor()
  await revision(/^3-.*tombstone, a leaf/).waitFor()
  noErrors()
})

test('a conflict is solved by keeping one version', async () => {
  await open('databases/people?doc=berta')
  await page.getByRole('tab', { name: 'Conflicts (1)' }).click()
  await page.getByRole('button', { name: 'Keep this one: 2-bbbbbb' }).waitFor()
  await accessible()
  await pictures('console-conflicts')
  await page.getByRole('button', { name: 'Keep this one: 2-bbbbbb' }).click()
  await page.getByRole('dialog').getByText('1 version goes: 4-dddddd.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Keep this one' }).click()
  await until('/people/berta?conflicts=true', doc => doc._rev === '2-bbbbbbbb' && !doc._conflicts)
  await page.getByRole('heading', { name: 'No conflict' }).waitFor()
  noErrors()
})

test('a conflict is solved by merging members', async () => {
  await open('databases/people?doc=carla&show=conflicts')
  const phone = page.getByRole('row', { name: 'phone' })
  await phone.getByRole('radio').nth(1).check()
  await page.getByRole('button', { name: 'Save the merge' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save the merge' }).click()
  const { _id, _rev, ...doc } = await until('/people/carla?conflicts=true', now => now.phone === 1 && !now._conflicts)
  assert.deepEqual(doc, { name: 'Anna B.', city: 'Riga', phone: 1 })
  noErrors()
})

test('attachments are added, seen, dropped in, downloaded and deleted', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'console-files-'))
  const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><circle cx="40" cy="20" r="18" fill="teal"/></svg>'
  await writeFile(join(dir, 'notes.txt'), 'some notes')
  await writeFile(join(dir, 'picture.svg'), picture)
  await open('databases/people?doc=dora&show=attachments')
  await page.getByRole('heading', { name: 'No attachment' }).waitFor()
  await accessible()
  await page.getByLabel('Files to add').setInputFiles([join(dir, 'notes.txt'), join(dir, 'picture.svg')])
  await page.getByRole('tab', { name: 'Attachments (2)' }).waitFor()
  await page.getByRole('button', { name: 'notes.txt', exact: true }).click()
  await page.getByText('some notes').waitFor()
  await page.getByRole('button', { name: 'picture.svg', exact: true }).click()
  await page.getByRole('img', { name: 'picture.svg' }).waitFor()
  assert.equal(await page.getByRole('img', { name: 'picture.svg' }).evaluate(image => image.decode().then(() => image.naturalWidth)), 80)
  await accessible()
  await pictures('console-attachments')
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download notes.txt' }).click()])
  assert.equal(await readFile(await file.path(), 'utf8'), 'some notes')
  await page.evaluate(() => {
    const data = new DataTransfer()
    data.items.add(new File(['{"dropped":true}'], 'dropped/in.json', { type: 'application/json' }))
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
  })
  await page.getByRole('tab', { name: 'Attachments (3)' }).waitFor()
  await page.getByRole('button', { name: 'Delete picture.svg' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('tab', { name: 'Attachments (2)' }).waitFor()
  const doc = await api('/people/dora')
  assert.deepEqual(Object.keys(doc._attachments).length, 2)
  await rm(dir, { recursive: true })
  noErrors()
})
