// The console in Chromium against a server of its own: what the tests of its pages share. Any error in the browser's
// console, breaches of the content policy among them, any request to another host and any answer of 400 or more that a
// test did not expect fails the test (`noErrors`). With SCREENSHOTS set, pictures go to that directory.
import { after, before } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { startServer } from '../lib/server.js'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const HANG = 60_000 // milliseconds: against what hangs, on a machine that does much else
const SIZES = { wide: { width: 1440, height: 900 }, middle: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } }

export let base, browser, page, server
export let errors = []
const expected = [] // patterns of errors that are asked for

before(async () => {
  assert.ok(existsSync(CHROMIUM), `${CHROMIUM} is missing: apt-get install chromium`)
  server = await startServer()
  const url = new URL(server.url)
  base = `${url.protocol}//${url.host}`
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  page = await watched(await browser.newContext({ viewport: SIZES.wide, colorScheme: 'light' }))
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** A page of a context whose errors count. */
export async function watched (context) {
  const one = await context.newPage()
  one.setDefaultTimeout(HANG)
  const note = text => { if (!expected.some(pattern => pattern.test(text))) errors.push(text) }
  one.on('console', message => { if (message.type() === 'error') note(`console: ${message.text()}`) })
  one.on('pageerror', error => note(`page: ${error.message}`))
  one.on('response', r => { if (r.status() >= 400) note(`${r.status()} ${r.request().method()} ${r.url()}`) })
  one.on('request', r => { if (!r.url().startsWith(base) && !/^(blob|data):/.test(r.url())) note(`request elsewhere: ${r.url()}`) })
  return one
}

/** Signs in by the form, as people do, and stands in the first page. */
export async function signIn (name = 'admin', password = 'password', on = page) {
  await on.goto(`${base}/_console/`)
  await on.getByLabel('Name').fill(name)
  await on.getByLabel('Password').fill(password)
  await on.getByRole('button', { name: 'Sign in' }).click()
  await on.getByRole('navigation', { name: 'Pages' }).waitFor()
}

/** Opens a place of the console: 'databases/orders?doc=1'. */
export async function open (place) {
  await page.goto(`${base}/_console/${place}`)
}

/** An error of this pattern is what the test asks for: '404 GET …' or 'console: …404'. */
export function expect (pattern) {
  expected.push(pattern)
}

/** Fails if anything went wrong in the page since the last call. */
export function noErrors () {
  const seen = errors
  errors = []
  assert.deepEqual(seen, [])
}

/** A picture of the page in each of the given sizes and in both themes: NAME-wide-dark.png. */
export async function pictures (name, sizes = ['wide', 'middle', 'phone']) {
  if (!process.env.SCREENSHOTS) return
  for (const size of sizes) {
    await page.setViewportSize(SIZES[size])
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      await page.waitForTimeout(200)
      await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}-${size}-${colorScheme}.png`) })
    }
  }
  await page.setViewportSize(SIZES.wide)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** axe finds nothing in the page as it is, in both themes. */
export async function accessible () {
  const source = await readFile(AXE, 'utf8')
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    // Through the debugger's protocol, which the page's policy does not bind.
    await page.evaluate(source)
    const { violations } = await page.evaluate(() => globalThis.axe.run())
    assert.deepEqual(violations.map(v => `${colorScheme}: ${v.id}: ${v.nodes.map(node => node.html).join(' ').slice(0, 400)}`), [])
  }
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Asks the server directly, as the administrator. A body is sent as JSON. */
export async function api (path, { method = 'GET', body, headers } = {}) {
  const answer = await fetch(base + path, {
    method,
    headers: { authorization: 'Basic ' + btoa('admin:password'), 'content-type': 'application/json', ...headers },
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  })
  return answer.json()
}

/** Waits until check(answer) holds. */
export async function until (path, check) {
  let answer
  for (const end = Date.now() + HANG; Date.now() < end;) {
    answer = await api(path)
    if (check(answer)) return answer
    await page.waitForTimeout(100)
  }
  assert.fail(`${path}: ${JSON.stringify(answer)}`)
}

/** Goes to the end of a list by the keyboard, as far as it loads each time, until this row is seen. */
export async function toEnd (grid, row) {
  await grid.focus()
  for (const end = Date.now() + HANG; !await row.isVisible();) {
    assert.ok(Date.now() < end, await grid.innerText())
    await page.keyboard.press('End')
    await page.evaluate(() => new Promise(requestAnimationFrame))
  }
}

/** Puts a text in place of what is in the code editor with this label. */
export async function setCode (label, text) {
  // Until the editor has come a plain field stands there.
  await page.locator('.cm-content').first().waitFor()
  await page.getByRole('textbox', { name: label }).click()
  await page.keyboard.press('Control+A')
  // Into the place of coloured text Chromium would put text with a style attribute, which the policy blocks.
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}
