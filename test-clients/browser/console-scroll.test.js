// Long lists under the mouse wheel: 100,000 documents and 1,000 databases. What is counted depends little on how busy the
// machine is: rows in the page, rows made for each frame, and the processor's time that the page takes for it. The longest
// frame is printed, and with STRICT_FRAMES set none may take more than 100 ms. This file takes too long for .ci/run and is
// in `make test-browser` alone.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { api, noErrors, open, page, signIn } from './console.js'

const ROWS = 100 // in the page: 28 are seen at this height, some are spare
const COST = 20 // milliseconds of the processor for a frame, the mean of twenty

// watch counts in the page from now on: frames and tasks by their length, rows that stand in it, rows that are made.
const watch = () => page.evaluate(() => {
  const seen = globalThis.seen = { frames: 0, longest: 0, rows: 0, made: 0, tasks: 0, longestTask: 0 }
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) {
      seen.tasks++
      seen.longestTask = Math.max(seen.longestTask, duration)
    }
  }).observe({ type: 'longtask' })
  let made = 0
  new MutationObserver(changes => { for (const { addedNodes } of changes) made += addedNodes.length })
    .observe(document.querySelector('[role=grid]'), { childList: true })
  let last = performance.now()
  const frame = now => {
    seen.frames++
    seen.longest = Math.max(seen.longest, now - last)
    seen.rows = Math.max(seen.rows, document.querySelectorAll('[role=row]').length)
    seen.made = Math.max(seen.made, made)
    made = 0
    last = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})

// cost is the processor's time that the page's thread has taken, in milliseconds.
let protocol
async function cost () {
  if (!protocol) {
    protocol = await page.context().newCDPSession(page)
    await protocol.send('Performance.enable', { timeDomain: 'threadTicks' })
  }
  const { metrics } = await protocol.send('Performance.getMetrics')
  return metrics.find(metric => metric.name === 'TaskDuration').value * 1000
}

// roll turns the wheel until the list says that it has all, slowly at first, as a hand does. It gives the most that twenty
// frames in a row have cost, for each of them.
async function roll (all) {
  await page.mouse.move(500, 500)
  const grid = page.getByRole('grid')
  let before = { cost: await cost(), frames: 0 }
  let most = 0
  for (let i = 0; i < 2000; i++) {
    await page.mouse.wheel(0, i < 50 ? 120 : 9000)
    await page.evaluate(() => new Promise(requestAnimationFrame))
    if (i % 20 !== 19) continue
    const now = { cost: await cost(), frames: await page.evaluate(() => globalThis.seen.frames) }
    most = Math.max(most, (now.cost - before.cost) / (now.frames - before.frames))
    before = now
    if (await grid.evaluate(box => box.scrollTop + box.clientHeight >= box.scrollHeight - 1) &&
      all.test(await page.locator('.status').innerText())) return most
  }
  assert.fail(await page.locator('.status').innerText())
}

async function smooth (t, most) {
  const seen = await page.evaluate(() => globalThis.seen)
  t.diagnostic(`${JSON.stringify(seen)}, ${most.toFixed(1)} ms of the processor for a frame`)
  assert.ok(seen.rows <= ROWS, `${seen.rows} rows were in the page`)
  assert.ok(seen.made <= 2 * ROWS, `${seen.made} rows were made for one frame`)
  assert.ok(most <= COST, `${most} ms of the processor for a frame`)
  if (process.env.STRICT_FRAMES) assert.ok(seen.longest <= 100, `a frame took ${seen.longest} ms`)
}

test('an administrator signs in to a server with 100,000 documents and 1,000 databases', async () => {
  await api('/large', { method: 'PUT' })
  for (let part = 0; part < 10; part++) {
    const docs = Array.from({ length: 10_000 }, (_, i) => ({ _id: String(part * 10_000 + i).padStart(6, '0'), n: i, name: `Name ${i % 100}` }))
    await api('/large/_bulk_docs', { method: 'POST', body: { docs } })
  }
  for (let i = 0; i < 1000; i += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, k) => api(`/many${String(i + k).padStart(4, '0')}`, { method: 'PUT' })))
  }
  await signIn()
})

test('100,000 documents scroll to their end', async t => {
  await open('databases/large')
  await page.getByRole('row', { name: '000000' }).waitFor()
  await watch()
  const most = await roll(/^100,000 documents ·/)
  await page.getByRole('row', { name: '099999' }).waitFor()
  await smooth(t, most)
  noErrors()
})

test('1,000 databases scroll to their end', async t => {
  await open('databases?filter=many')
  await page.getByRole('row', { name: 'many0000' }).waitFor()
  await watch()
  const most = await roll(/^1,000 databases$/)
  await page.getByRole('row', { name: 'many0999' }).waitFor()
  await smooth(t, most)
  noErrors()
})

test('the list of databases says which of them change', async () => {
  await open('databases?filter=large')
  const rate = page.getByRole('row', { name: 'large' }).getByRole('gridcell').nth(3)
  await rate.getByText('0', { exact: true }).waitFor()
  for (let i = 0; i < 100 && await rate.innerText() === '0'; i++) await api('/large', { method: 'POST', body: { i } })
  for (let i = 0; i < 60 && await rate.innerText() === '0'; i++) await page.waitForTimeout(100)
  assert.ok(Number(await rate.innerText()) > 0)
  noErrors()
})
