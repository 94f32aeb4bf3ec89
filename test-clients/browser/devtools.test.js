// The debugger of event functions in Chromium's own DevTools: the address that the server gives, a breakpoint set in the
// panel Sources, a variable there, nothing that DevTools ask in vain. With SCREENSHOTS set, a picture goes there.
import { after, before, test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { startServer } from '../lib/server.js'

const API = '/_eventing/api/v1'
const CODE = `function OnUpdate(doc, meta) {
  const twice = 2 * doc.n;
  const sum = add(twice, 1);
  dst[meta.id + '-twice'] = { n: sum };
}

function add(a, b) {
  return a + b;
}
`
let server, context, profile

before(async () => {
  server = await startServer()
  profile = await mkdtemp(join(tmpdir(), 'settee-devtools-'))
  context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'],
    viewport: { width: 1300, height: 800 }
  })
})

after(async () => {
  await context?.close()
  await rm(profile, { recursive: true, force: true })
  await server?.stop()
})

test('a breakpoint of DevTools stops the handler, and they show its variables', async () => {
  const { origin } = new URL(server.url)
  const ask = async (method, path, body) => {
    const headers = { authorization: 'Basic ' + btoa('admin:password'), 'content-type': 'application/json' }
    return (await fetch(origin + path, { method, headers, body: body && JSON.stringify(body) })).text()
  }
  for (const name of ['orders', 'totals']) await ask('PUT', `/${name}`)
  const buckets = [{ alias: 'dst', bucket_name: 'totals', access: 'rw' }]
  await ask('POST', `${API}/functions/f`,
    { appname: 'f', appcode: CODE, settings: {}, depcfg: { source_bucket: 'orders', buckets } })
  await ask('POST', `${API}/functions/f/deploy?wait=60s`)
  await ask('POST', `${API}/config`, { enable_debugger: true })
  await ask('POST', `${API}/functions/f/debugger/start`)
  await ask('PUT', '/orders/a', { n: 21 })
  let url = ''
  while (!url) url = await ask('POST', `${API}/functions/f/debugger/url`)

  const cdp = await context.newCDPSession(context.pages()[0])
  const opened = context.waitForEvent('page')
  await cdp.send('Target.createTarget', { url }) // pages may not be led to devtools: addresses
  const page = await opened
  const errors = []
  page.on('console', message => { if (message.type() === 'error') errors.push(message.text()) })
  await page.waitForSelector('.cm-line:has-text("add(twice, 1)")')
  await page.click('.cm-lineNumbers .cm-gutterElement:text-is("4")')
  await page.waitForSelector('text=dst[meta.id')
  await page.keyboard.press('F8')
  await page.waitForSelector('text=Paused on breakpoint')
  await page.locator('.name-and-value', { hasText: 'twice' }).filter({ hasText: '42' }).first().waitFor()
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, 'devtools.png') })
  assert.deepEqual(errors, [])
})
