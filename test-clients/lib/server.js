// The server under test: a process of the binary SETTEE_BINARY, or the server at COUCHDB_URL.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const ADMIN = 'admin'
const PASSWORD = 'password'

// Starts a server with a fresh data directory. Its methods: kill() and restart() as in a crash, stop() at the end.
// SETTEE_SHADOW names a server that is asked the same, or is "settee" for another one; stop() fails where that has
// answered differently. Tests of what the server does by itself are not mirrored.
export async function startServer ({ mirrored = true } = {}) {
  if (process.env.COUCHDB_URL) return new ForeignServer(process.env.COUCHDB_URL)
  if (!process.env.SETTEE_BINARY) throw new Error('SETTEE_BINARY or COUCHDB_URL must be set')
  const server = await ownServer()
  const shadow = mirrored && process.env.SETTEE_SHADOW
  if (shadow === 'settee') {
    server.beside = await ownServer()
    await server.beside.restart()
    server.shadow = `http://127.0.0.1:${server.beside.port}`
  } else if (shadow) {
    server.shadow = shadow
  }
  await server.restart()
  return server
}

async function ownServer () {
  const dir = await mkdtemp(join(tmpdir(), 'settee-clients-'))
  return new OwnServer(process.env.SETTEE_BINARY, await freePort(), dir)
}

class OwnServer {
  constructor (binary, port, dir) {
    Object.assign(this, { binary, port, dir, killable: true, log: '' })
    this.url = `http://${ADMIN}:${PASSWORD}@127.0.0.1:${port}`
  }

  async restart () {
    const env = { ...process.env, COUCHDB_USER: ADMIN, COUCHDB_PASSWORD: PASSWORD, COUCHDB_SECRET: 'clients' }
    const args = ['serve', '--bind', '127.0.0.1', '--port', String(this.port), '--data', this.dir]
    if (this.shadow) args.push('--shadow', this.shadow)
    this.child = spawn(this.binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on('data', text => { this.log = (this.log + text).slice(-100_000) })
    }
    this.ended = new Promise(resolve => this.child.on('exit', resolve))
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(20)) {
      if (this.child.exitCode !== null) break
      const up = await fetch(`http://127.0.0.1:${this.port}/_up`).catch(() => null)
      if (up?.ok) return
    }
    throw new Error(`the server does not answer:\n${this.log}`)
  }

  async kill () {
    this.child.kill('SIGKILL')
    await this.ended
  }

  async stop () {
    this.child.kill('SIGTERM')
    const code = await this.ended
    await rm(this.dir, { recursive: true, force: true })
    if (code !== 0) throw new Error(`the server ended with status ${code}:\n${this.log}`)
    if (this.beside) await this.beside.stop()
    const different = this.log.split('\n').filter(line => line.includes('the shadow answers differently'))
    if (different.length > 0) throw new Error(different.join('\n'))
  }
}

class ForeignServer {
  constructor (url) {
    const { host } = new URL(url)
    this.url = `http://${ADMIN}:${PASSWORD}@${host}`
    this.killable = false
  }

  async stop () {}
}

// Sends a request as the administrator, and returns the answer, which has to be good.
export async function send (server, method, path, body) {
  const { origin, username, password } = new URL(server.url)
  const headers = { Authorization: `Basic ${btoa(`${username}:${password}`)}`, 'Content-Type': 'application/json' }
  const answer = await fetch(origin + path, { method, headers, body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`)
  return answer.json()
}

// Waits until something holds.
export async function until (what, holds) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(50)) {
    if (await holds()) return
  }
  throw new Error(`not in a minute: ${what}`)
}

// Makes a database name that no other run uses.
export function databaseName (test) {
  return `${test}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`
}

async function freePort () {
  const probe = createServer()
  await new Promise(resolve => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address()
  await new Promise(resolve => probe.close(resolve))
  return port
}
