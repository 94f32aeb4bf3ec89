// The page of event functions in Chromium: log in, make a function, an error of the compiler at its line, deploy, live
// graphs, log and statistics of lines, a test without effects, settings and bindings, pause, undeploy, delete, export
// and import. Any error in the browser's console, breaches of the content policy among them, and any answer of 400 or
// more that is not asked for, fails the test. With SCREENSHOTS set, pictures go to that directory.
import { after, before, test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { startServer } from '../lib/server.js'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const API = '/_eventing/api/v1'
const HOSTILE = '<img src=x onerror=document.title="owned">'

const CODE = `function OnUpdate(doc, meta) {
  log('order', meta.id, doc.note);
  if (doc.bad) throw new Error('a bad order');
  const key = 'customer:' + doc.customer;
  const sum = totals[key] || {orders: 0, total: 0};
  sum.orders++;
  sum.total += doc.total;
  totals[key] = sum;
  createTimer(Remind, new Date(Date.now() + 3600000), meta.id, {id: meta.id});
}

function Remind(context) {
  log('reminder', context.id);
}
`

let server, base, browser, page
const errors = []
const expected = [] // patterns of errors that are asked for

before(async () => {
  assert.ok(existsSync(CHROMIUM), `${CHROMIUM} is missing: apt-get install chromium`)
  server = await startServer()
  const url = new URL(server.url)
  base = `${url.protocol}//${url.host}`
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  page = await browser.newPage({ viewport: { width: 1000, height: 1000 } })
  page.setDefaultTimeout(15_000)
  page.on('dialog', dialog => dialog.accept())
  const note = text => { if (!expected.some(pattern => pattern.test(text))) errors.push(text) }
  page.on('console', message => { if (message.type() === 'error') note(`console: ${message.text()}`) })
  page.on('pageerror', error => note(`page: ${error.message}`))
  page.on('response', r => { if (r.status() >= 400) note(`${r.status()} ${r.request().method()} ${r.url()}`) })
  page.on('request', r => { if (!r.url().startsWith(base)) note(`request elsewhere: ${r.url()}`) })
  for (const name of ['orders', 'totals']) await api(`/${name}`, { method: 'PUT' })
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

async function picture (name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) })
}

// Asks the server directly, as the administrator.
async function api (path, options) {
  const authorization = 'Basic ' + btoa('admin:password')
  const r = await fetch(base + path, { ...options, headers: { authorization, 'content-type': 'application/json' } })
  return r.json()
}

const put = (path, doc) => api(path, { method: 'PUT', body: JSON.stringify(doc) })

// Waits until check(answer) holds.
async function until (path, check) {
  for (let i = 0; i < 100; i++) {
    const answer = await api(path)
    if (check(answer)) return answer
    await page.waitForTimeout(100)
  }
  assert.fail(`${path}: ${JSON.stringify(await api(path))}`)
}

const state = name => page.waitForSelector(`#state.${name}`)
// Waits for an element with a text.
const shows = (selector, text) => page.locator(selector, { hasText: text }).first().waitFor()
const panel = name => page.click(`.tabs a:has-text("${name}")`)

// Has a refused request reported by the browser, as all refused requests are, without failing the test.
async function refused (pattern, fn) {
  const allowed = [pattern, /console: Failed to load resource/]
  expected.push(...allowed)
  await fn()
  await page.waitForTimeout(200)
  expected.splice(expected.length - allowed.length)
}

test('log in', async () => {
  await page.goto(`${base}/_eventing`)
  assert.equal(page.url(), `${base}/_eventing/`)
  await page.fill('[name=name]', 'admin')
  await refused(/401 POST .*_session/, async () => {
    await page.fill('[name=password]', 'wrong')
    await page.click('button:has-text("Log in")')
    await page.waitForSelector('[role=alert]:has-text("incorrect")')
  })
  await page.fill('[name=password]', 'password')
  await page.click('button:has-text("Log in")')
  await page.waitForSelector('text=There are no functions.')
})

test('create a function', async () => {
  await page.click('#new')
  await page.fill('#create [name=name]', 'totals')
  await page.fill('#create [name=source]', 'orders')
  await page.click('button:has-text("Create")')
  await state('undeployed')
  assert.match(await page.inputValue('#code'), /function OnUpdate/)
  assert.equal((await api(`${API}/functions/totals`)).depcfg.source_bucket, 'orders')
})

test('bind a database', async () => {
  await panel('Bindings')
  await page.click('text=Add a database')
  await page.fill('[data-kind=buckets] [name=alias]', 'totals')
  await page.fill('[data-kind=buckets] [name=bucket_name]', 'totals')
  await page.click('text=Add a constant')
  await page.fill('[data-kind=constants] [name=value]', 'most')
  await page.fill('[data-kind=constants] [name=literal]', '100')
  await page.click('text=Save bindings')
  await page.waitForSelector('#message:has-text("Bindings saved.")')
  const { buckets, constants } = await api(`${API}/functions/totals/config`)
  assert.deepEqual([buckets[0].alias, buckets[0].bucket_name, buckets[0].access], ['totals', 'totals', 'rw'])
  assert.deepEqual(constants, [{ value: 'most', literal: '100' }])
})

test('a wrong line is marked', async () => {
  await panel('Code')
  await refused(/422 POST .*appcode/, async () => {
    await page.fill('#code', CODE.replace('sum.orders++;', 'sum.orders ++ 1;'))
    await page.click('#save')
    await page.waitForSelector('#lines .row.wrong')
  })
  assert.equal(await page.getAttribute('#lines .row.wrong', 'data-line'), '6')
  assert.match(await page.textContent('#code-error'), /^Line 6, column \d+: /)
  assert.equal(await page.getAttribute('#code', 'aria-invalid'), 'true')
  assert.ok(await page.isVisible('.mark'))
  assert.doesNotMatch((await api(`${API}/functions/totals`)).appcode, /orders \+\+ 1/)
  await page.fill('#code', CODE)
  await page.click('#save')
  await page.waitForSelector('#message:has-text("Code saved.")')
  assert.equal(await page.locator('#lines .row.wrong').count(), 0)
  assert.equal((await api(`${API}/functions/totals`)).appcode, CODE)
})

test('settings', async () => {
  await panel('Settings')
  await page.fill('[name=description]', HOSTILE)
  await page.fill('[name=selector]', '{"customer": ')
  await page.click('text=Save settings')
  await page.waitForSelector('#settings .error:has-text("selector")')
  await page.fill('[name=selector]', '{"customer": {"$gt": null}}')
  await page.fill('[name=max_retries]', '0')
  await page.click('text=Save settings')
  await page.waitForSelector('#message:has-text("Settings saved.")')
  const settings = await api(`${API}/functions/totals/settings`)
  assert.equal(settings.description, HOSTILE)
  assert.deepEqual(settings.selector, { customer: { $gt: null } })
  assert.equal(settings.max_retries, 0)
})

test('deploy', async () => {
  await panel('Code')
  await page.click('[data-operation=deploy]')
  await state('deployed')
  assert.equal((await api(`${API}/status/totals`)).app.composite_status, 'deployed')
  assert.ok(await page.evaluate(() => globalThis.document.querySelector('#code').readOnly))
})

test('graphs, statistics of lines and the log change with the documents', async () => {
  await page.waitForSelector('[data-graph=throughput] b:has-text("0/s")')
  await put('/orders/1', { customer: 'ada', total: 20, note: HOSTILE })
  await until('/totals/customer:ada', doc => doc.orders === 1)
  for (let i = 2; i < 40; i++) await put(`/orders/${i}`, { customer: 'ada', total: i, bad: i % 10 === 0 })
  await page.waitForSelector('#totals:has-text("39 events")')
  await page.waitForSelector('#lines [data-line="2"] .calls:has-text("39")')
  await page.waitForSelector('#lines [data-line="3"].failing .errors:has-text("3")')
  await page.waitForFunction(() => [...globalThis.document.querySelectorAll('[data-graph=throughput] .line-0')]
    .some(line => new Set(line.getAttribute('points').split(' ').map(point => point.split(',')[1])).size > 1))
  assert.ok(await page.locator('[data-graph=latency] polyline').count() > 0)
  assert.match(await page.getAttribute('[data-graph=backlog] svg', 'aria-label'), /Backlog: events left 0/)
  await panel('Log')
  await page.locator('#log tr', { hasText: '"order" "1"' }).filter({ hasText: '<img src=x onerror=' }).waitFor()
  await page.waitForSelector('#log tr.failing:has-text("a bad order")')
  assert.equal(await page.locator('#log img').count(), 0)
  assert.equal(await page.title(), 'Event functions')
})

test('a test shows writes and applies none', async () => {
  await panel('Test')
  await page.selectOption('[name=kind]', 'doc')
  await page.fill('#trial [name=id]', 'new')
  await page.fill('#trial [name=doc]', '{"customer": "bob", "total": 7}')
  await page.click('#trial button')
  await page.waitForSelector('#trial-result .outcome.success')
  const text = await page.textContent('#trial-result')
  for (const part of ['customer:bob', '"total": 7', 'Remind', '"order" "new"']) assert.ok(text.includes(part), part)
  await picture('functions-test')
  assert.equal((await api('/totals/customer:bob')).error, 'not_found')
  await page.selectOption('[name=kind]', 'id')
  await page.fill('#trial [name=id]', '10')
  await page.click('#trial button')
  await page.waitForSelector('#trial-result .outcome.failure')
  await page.click('#trial-result button:has-text("Line 3")')
  await page.waitForSelector('#code:focus')
})

test('the debugger stops a handler, shows what it knows and lets its event go', async () => {
  await panel('Debug')
  await page.click('button:has-text("Switch it on")')
  await page.fill('[name=of]', 'looked-at')
  await page.click('#debug-start')
  await page.waitForSelector('#debug-message:has-text("Waits for an event")')
  await put('/orders/passes', { customer: 'eve', total: 1 })
  await put('/orders/looked-at', { customer: 'eve', total: 3, note: HOSTILE })
  await page.waitForSelector('.code .at[data-line="2"]')
  await until('/totals/customer:eve', doc => doc.orders === 1)
  await page.click('.code [data-line="7"] button')
  await page.waitForSelector('.code [data-line="7"] button[aria-pressed=true]')
  await page.fill('[name=watch]', 'sum.total + doc.total')
  await page.press('[name=watch]', 'Enter')
  await page.click('#debug button:text-is("Continue")')
  await page.waitForSelector('.code .at[data-line="7"]')
  await page.waitForSelector('#debug-frames button:has-text("OnUpdate, line 7")')
  await shows('#debug-variables li', 'key: "customer:eve"')
  await shows('#debug-watches li', 'sum.total + doc.total: 4')
  await page.click('#debug-variables summary:has-text("doc: ")')
  await shows('#debug-variables li li', 'total: 3')
  await page.click('#debug button:text-is("Step over")')
  await page.waitForSelector('.code .at[data-line="8"]')
  await shows('#debug-watches li', 'sum.total + doc.total: 7')
  await page.click('#debug button:text-is("Step over")')
  await shows('#debug-effects li', 'totals/customer:eve: {"orders":2,"total":4}')
  await shows('#debug-effects li', '"order" "looked-at"')
  assert.equal((await api('/totals/customer:eve')).total, 1)
  assert.equal(await page.locator('#debug img').count(), 0)
  await picture('functions-debug')
  await page.click('.code [data-line="7"] button')
  await page.click('#debug button:text-is("Continue")')
  await page.waitForSelector('#debug-message:has-text("The session is over")')
  await until('/totals/customer:eve', doc => doc.orders === 2 && doc.total === 4)
})

test('pause, change and resume', async () => {
  await panel('Code')
  // a last burst, for the picture
  for (let i = 40; i < 140; i++) await put(`/orders/${i}`, { customer: 'ada', total: i })
  await page.waitForSelector('#lines [data-line="2"] .calls:has-text("141")')
  await picture('functions')
  await page.click('[data-operation=pause]')
  await state('paused')
  await page.fill('#code', CODE.replace("'order'", "'seen'"))
  await page.click('#save')
  await page.waitForSelector('#message:has-text("Code saved.")')
  await page.waitForSelector('#state:has-text("changed since")')
  await page.click('[data-operation=resume]')
  await state('deployed')
  await put('/orders/last', { customer: 'eve', total: 1 })
  await panel('Log')
  await page.waitForSelector('#log tr:has-text(\'"seen" "last"\')')
})

test('export and import', async () => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Export all')])
  const [exported] = JSON.parse(await readFile(await download.path(), 'utf8'))
  assert.equal(exported.appname, 'totals')
  const copy = Buffer.from(JSON.stringify([{ ...exported, appname: 'copy' }]))
  await page.setInputFiles('input[type=file]', { name: 'f.json', mimeType: 'application/json', buffer: copy })
  await page.waitForSelector('text=1 of 1 functions imported.')
  await page.waitForSelector('.functions a:has-text("copy")')
})

test('undeploy and delete', async () => {
  await page.click('[data-operation=undeploy]')
  await state('undeployed')
  await page.click('[data-operation=delete]')
  await page.waitForSelector('text=Choose a function')
  await page.waitForSelector('.functions a:has-text("totals")', { state: 'detached' })
  assert.equal((await api(`${API}/functions/totals`)).code, 13)
})

test('every control has a name', async () => {
  await page.click('.functions a:has-text("copy")')
  for (const name of ['Code', 'Bindings', 'Settings', 'Test', 'Debug', 'Log']) {
    await panel(name)
    const controls = 'input, select, textarea, button'
    const nameless = await page.evaluate(controls => [...globalThis.document.querySelectorAll(controls)]
      .filter(e => !e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim())
      .map(e => e.outerHTML), controls)
    assert.deepEqual(nameless, [], name)
    const wide = await page.evaluate(() => globalThis.document.documentElement.scrollWidth)
    assert.ok(wide <= 1000, `${name} is ${wide} pixels wide`)
  }
})

test('log out', async () => {
  await page.click('#logout')
  await page.waitForSelector('button:has-text("Log in")')
  await page.waitForTimeout(2500) // nothing is asked for any more, which would be refused
})

test('others see the functions of their databases', async () => {
  const id = 'org.couchdb.user:anna'
  await put(`/_users/${id}`, { _id: id, name: 'anna', password: 'secret', roles: [], type: 'user' })
  await put('/orders/_security', { admins: { names: ['anna'], roles: [] }, members: { roles: ['_admin'] } })
  await page.fill('[name=name]', 'anna')
  await page.fill('[name=password]', 'secret')
  await page.click('button:has-text("Log in")')
  await page.waitForSelector('text=Choose a function')
  await page.waitForSelector('text=There are no functions.') // it writes totals, which is not anna's
  await put('/totals/_security', { admins: { names: ['anna'], roles: [] }, members: { roles: ['_admin'] } })
  await page.click('.functions a:has-text("copy")')
  await state('undeployed')
  await page.click('[data-operation=deploy]')
  await state('deployed')
  await page.waitForSelector('#totals:has-text("142 events")')
})

test('a session that ends leads to the form to log in', async () => {
  await refused(/401 GET/, async () => {
    await page.context().clearCookies()
    await page.waitForSelector('[role=alert]:has-text("The session has ended.")')
  })
})

test('no error in the console', () => assert.deepEqual(errors, []))
