// The debugger of event functions, as a client of the Chrome DevTools protocol from npm drives it.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import CDP from 'chrome-remote-interface'

import { databaseName, startServer } from '../lib/server.js'

const source = databaseName('debugged')
const code = `function OnUpdate(doc, meta) {
  const twice = 2 * doc.n;
  dst[meta.id + '-twice'] = { n: twice };
}
`
let server, base, headers

async function ask (method, path, body) {
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path}: ${text}`)
  return text
}

before(async () => {
  server = await startServer({ mirrored: false })
  const { origin, username, password } = new URL(server.url)
  base = origin
  headers = { Authorization: 'Basic ' + btoa(`${username}:${password}`), 'Content-Type': 'application/json' }
})

after(() => server?.stop())

// A CouchDB has no event functions.
const skip = Boolean(process.env.COUCHDB_URL)

it('stops at a breakpoint, steps, reads a variable and goes on', { skip }, async () => {
  const api = '/_eventing/api/v1'
  await ask('PUT', `/${source}`)
  await ask('POST', `${api}/functions/f`, {
    appname: 'f', appcode: code, settings: {},
    depcfg: { source_bucket: source, buckets: [{ alias: 'dst', bucket_name: source, access: 'rw' }] }
  })
  await ask('POST', `${api}/functions/f/deploy?wait=60s`)
  await ask('POST', `${api}/config`, { enable_debugger: true })
  await ask('POST', `${api}/functions/f/debugger/start`, { id: 'a' })
  await ask('PUT', `/${source}/a`, { n: 21 })
  let session
  do {
    session = JSON.parse(await ask('GET', `${api}/functions/f/debugger`))
    await sleep(10)
  } while (!session.websocket)

  // As DevTools find it: with the ticket that is in their address, and no password.
  const [, ticket] = session.url.split(/ws=[^/]+/)
  const alterPath = (path) => path.startsWith('/json') ? ticket + path : path
  const { hostname, port } = new URL(base)
  const client = await CDP({ host: hostname, port, local: true, alterPath })
  const { Debugger, Runtime } = client
  const scripts = []
  Debugger.scriptParsed((script) => scripts.push(script))
  await Runtime.enable()
  await Debugger.enable()
  const { scriptSource } = await Debugger.getScriptSource({ scriptId: scripts[0].scriptId })
  assert.ok(scriptSource.startsWith(code))
  const { locations } = await Debugger.setBreakpointByUrl({ url: scripts[0].url, lineNumber: 2 })
  assert.equal(locations[0].lineNumber, 2)
  const stop = async (go) => (await Promise.all([Debugger.paused(), go()]))[0]
  let paused = await stop(() => Runtime.runIfWaitingForDebugger())
  assert.equal(paused.callFrames[0].location.lineNumber, 1)
  paused = await stop(() => Debugger.stepOver())
  assert.equal(paused.callFrames[0].location.lineNumber, 2)
  const [frame] = paused.callFrames
  const { result } = await Runtime.getProperties({ objectId: frame.scopeChain[0].object.objectId })
  assert.equal(result.find((one) => one.name === 'twice').value.value, 42)
  const { result: sum } = await Debugger.evaluateOnCallFrame({ callFrameId: frame.callFrameId, expression: 'twice + doc.n' })
  assert.equal(sum.value, 63)
  await Promise.all([new Promise((resolve) => client.once('disconnect', resolve)), Debugger.resume()])

  let doc
  do {
    await sleep(10)
    const answer = await fetch(`${base}/${source}/a-twice`, { headers })
    doc = answer.ok && await answer.json()
  } while (!doc)
  assert.equal(doc.n, 42)
})
