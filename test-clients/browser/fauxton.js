// Fauxton in Chromium against a server of its own, logged in: what the tests of its pages share. Any error in the
// browser's console and any answer of 400 or more is in `errors`. With SCREENSHOTS set, pictures go to that directory.
import { after, before, test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { startServer } from '../lib/server.js'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const errors = []
const waiting = new Set() // requests of the page that are not answered
let changed = 0 // when there was another one, or one less, in milliseconds
export let base, page
let server, browser

before(async () => {
  assert.ok(existsSync(CHROMIUM), `${CHROMIUM} is missing: apt-get install chromium`)
  server = await startServer()
  const url = new URL(server.url)
  base = `${url.protocol}//${url.host}`
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  page = await browser.newPage({ viewport: { width: 1200, height: 720 } })
  page.setDefaultTimeout(60_000)
  const answered = request => { waiting.delete(request); changed = Date.now() }
  page.on('request', request => {
    changed = Date.now()
    if (request.url().startsWith(base)) waiting.add(request) // not a worker's blob, which has no end if the worker goes
  })
  page.on('requestfinished', answered)
  page.on('requestfailed', answered)
  page.on('dialog', dialog => dialog.accept()) // whether an edited document may be left
  page.on('console', message => { if (message.type() === 'error') errors.push(`console: ${message.text()}`) })
  page.on('pageerror', error => errors.push(`page: ${error.message}`))
  page.on('response', r => { if (r.status() >= 400) errors.push(`${r.status()} ${r.request().method()} ${r.url()}`) })
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

// Opens a page of the interface afresh: what the one before had open or unsaved does not follow.
export async function open (where) {
  await page.goto('about:blank')
  await page.goto(`${base}/_utils/#${where}`)
}

export async function picture (name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) })
}

// Asks the server directly, as the administrator.
export async function api (path, options) {
  const headers = { authorization: 'Basic ' + btoa('admin:password'), 'content-type': 'application/json' }
  const r = await fetch(base + path, { ...options, headers })
  return r.json()
}

// Waits until check(answer) holds.
export async function until (path, check) {
  for (let i = 0; i < 600; i++) {
    const answer = await api(path)
    if (check(answer)) return answer
    await page.waitForTimeout(100)
  }
  assert.fail(`${path}: ${JSON.stringify(await api(path))}`)
}

// Writes a text into the code editor of the page, in place of what is there.
export async function setCode (text) {
  await page.evaluate(text => globalThis.document.querySelector('.ace_editor').env.editor.setValue(text, 1), text)
}

// Waits until Fauxton has seen its answers: it fails when the page is left before.
export async function settled () {
  for (let i = 0; i < 600; i++) {
    if (waiting.size === 0 && Date.now() - changed > 700) return
    await page.waitForTimeout(100)
  }
  assert.fail(`not answered: ${[...waiting].map(request => request.url())}`)
}

test('log in', async () => {
  await open('')
  await page.fill('#username', 'admin')
  await page.fill('#password', 'password')
  await picture('login')
  await page.click('[type=submit]')
  await page.waitForSelector('.add-new-database-btn')
  await page.waitForSelector('text=_replicator')
})
