import { test } from 'node:test'
import assert from 'node:assert/strict'
import { because, isPublic, levelOf, list, type Level, type Person, type Security } from './rights'

test('a security object gives each person a level, and says why', () => {
  const ann: Person = { name: 'ann', roles: ['sales'] }
  const root: Person = { name: 'root', roles: ['_admin'] }
  const cases: [Person, Security, Level, string][] = [
    [root, { members: { roles: ['_admin'] } }, 'server', 'administers the server'],
    [ann, {}, 'member', 'the database is open to everybody'],
    [ann, { admins: { names: ['ann'] } }, 'admin', 'by name'],
    [ann, { admins: { roles: ['sales'] } }, 'admin', 'by role sales'],
    [ann, { members: { names: ['ann'], roles: [] } }, 'member', 'by name'],
    [ann, { members: { names: ['bob'] } }, 'none', 'neither the name nor a role is listed'],
    [ann, { members: { roles: ['_admin'] } }, 'none', 'neither the name nor a role is listed']
  ]
  for (const [who, security, level, reason] of cases) {
    assert.equal(levelOf(who, security), level)
    assert.equal(because(who, security), reason)
  }
  assert.equal(isPublic({ admins: { names: ['x'] } }), true)
})

test('names are separated by commas or spaces', () => {
  assert.deepEqual(list(' a, b  c,a'), ['a', 'b', 'c'])
})
