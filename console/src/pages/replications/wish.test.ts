import { test } from 'node:test'
import assert from 'node:assert/strict'
import { definition, type End, type Wish } from './wish'

const here = (name: string): End => ({ where: 'here', name, url: '', user: 'u', password: 'p' })
const wish: Wish = { id: '', source: here('a/b'), target: here('c'), lasting: false, createTarget: true, part: '' }

test('a copy names databases of this server', () => {
  assert.deepEqual(definition(wish, 'http://h'), { source: 'a/b', target: 'c', create_target: true })
})

test('a replication that lasts has addresses with credentials at both ends', () => {
  assert.deepEqual(definition({ ...wish, lasting: true, id: 'one', part: '{"n": 1}', createTarget: false }, 'http://h'), {
    source: { url: 'http://h/a%2Fb', auth: { basic: { username: 'u', password: 'p' } } },
    target: { url: 'http://h/c', auth: { basic: { username: 'u', password: 'p' } } },
    continuous: true,
    _id: 'one',
    selector: { n: 1 }
  })
})

test('what is missing is said', () => {
  assert.throws(() => definition({ ...wish, source: here('') }, 'http://h'), /From: which database/)
  assert.throws(() => definition({ ...wish, target: { ...here(''), where: 'there' } }, 'http://h'), /To: at which address/)
  assert.throws(() => definition({ ...wish, part: '{' }, 'http://h'), /no JSON/)
})
