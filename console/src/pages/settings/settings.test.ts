import { test } from 'node:test'
import assert from 'node:assert/strict'
import { matching, nameOf, type Setting } from './settings'

const row = (section: string, key: string, more: Partial<Setting> = {}): Setting => ({
  section, key, value: '', default: '', origin: 'default', means: '', restart: false, effect: true, secret: false, fixed: false, ...more
})

test('settings are found by all words in name, value and meaning', () => {
  const all = [
    row('log', 'level', { value: 'info', means: 'Least important level.' }),
    row('chttpd', 'port', { value: '5984', origin: 'file', means: 'TCP port.' }),
    row('vhosts', '', { means: 'Virtual hosts.' })
  ]
  const found = (filter: string, changed = false) => matching(all, filter, changed).map(nameOf).join()
  assert.equal(found(''), 'log/level,chttpd/port,vhosts/')
  assert.equal(found('  LEVEL important '), 'log/level')
  assert.equal(found('5984'), 'chttpd/port')
  assert.equal(found('log/level'), 'log/level')
  assert.equal(found('level 5984'), '')
  assert.equal(found('virtual'), 'vhosts/')
  assert.equal(found('', true), 'chttpd/port')
  assert.equal(found('virtual', true), '')
})
