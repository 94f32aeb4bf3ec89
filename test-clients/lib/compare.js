// Compares two PouchDB databases by everything that replication carries: every leaf of every document, its body, its
// history and the bytes of its attachments.
import assert from 'node:assert/strict'

// All leaves as "id rev": {deleted, body with attachments inline}.
export async function leaves (db) {
  const feed = await db.changes({ style: 'all_docs', since: 0 })
  const wanted = feed.results
    .filter(row => !row.id.startsWith('_design/'))
    .flatMap(row => row.changes.map(({ rev }) => ({ id: row.id, rev })))
  const found = new Map()
  for (let i = 0; i < wanted.length; i += 200) {
    const { results } = await db.bulkGet({ docs: wanted.slice(i, i + 200), attachments: true, revs: true })
    for (const { id, docs } of results) {
      for (const { ok, error } of docs) {
        assert.ok(ok, `${id}: ${JSON.stringify(error)}`)
        found.set(`${id} ${ok._rev}`, comparable(ok))
      }
    }
  }
  return found
}

function comparable (doc) {
  const { _attachments: attachments = {}, ...body } = doc
  const data = {}
  for (const name of Object.keys(attachments).sort()) {
    const { content_type: type, data: content, digest } = attachments[name]
    // a server may keep text compressed, then its digest is that of the compressed bytes
    data[name] = { type, content: Buffer.isBuffer(content) ? content.toString('base64') : content, hasDigest: Boolean(digest) }
  }
  return { body: sortMembers(body), attachments: data }
}

function sortMembers (body) {
  return Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1)))
}

// The leaves' names, cheap enough to ask again and again.
export async function leafNames (db) {
  const feed = await db.changes({ style: 'all_docs', since: 0 })
  return new Set(feed.results.flatMap(row => row.changes.map(({ rev }) => `${row.id} ${rev}`)))
}
