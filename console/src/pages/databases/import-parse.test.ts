import { test } from 'node:test'
import assert from 'node:assert/strict'
import { csvHeader, csvRow } from './csv'
import { documentsIn, type Read } from './import-parse'

let seed = 11
const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n

// pieces cuts a text anywhere.
async function * pieces (text: string, longest: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length;) {
    const to = at + 1 + random(longest)
    yield text.slice(at, to)
    at = to
  }
}

async function all (text: string, name: string, longest = 7): Promise<Read[]> {
  const found = []
  for await (const one of documentsIn(pieces(text, longest), name)) found.push(one)
  return found
}

const texts = ['', 'a', 'a,b', '"', 'x"y', 'line\nbreak', 'cr\r\nlf', '[', ']', '{"a":1}', '12', '007', 'true', 'null', '\\', '\\"', 'ä€😀', ' ', '"q"', ',']
const value = (depth: number): unknown => {
  const kind = random(depth > 2 ? 4 : 6)
  if (kind === 0) return random(1000) / 8
  if (kind === 1) return [true, false, null][random(3)]
  if (kind < 4) return texts[random(texts.length)]
  if (kind === 4) return [value(depth + 1), value(depth + 1)]
  return { [texts[random(texts.length)]!]: value(depth + 1), z: value(depth + 1) }
}

test('documents come out of a file as they went in, wherever it is cut', async () => {
  for (let round = 0; round < 300; round++) {
    const docs = Array.from({ length: random(6) }, (_, i) => ({ _id: String(i), a: value(0), b: value(0), 'c,d"': value(0) }))
    const want = (first: number) => docs.map((doc, i) => ({ at: i + first, doc }))
    const longest = 1 + random(40)
    assert.deepEqual(await all(docs.map(doc => JSON.stringify(doc) + '\n').join(''), 'a.jsonl', longest), want(1))
    const array = random(2) === 0 ? JSON.stringify(docs) : JSON.stringify(docs, null, 2)
    assert.deepEqual(await all(array, 'a.json', longest), want(1))
    const names = ['_id', 'a', 'b', 'c,d"']
    const csv = csvHeader(names) + docs.map(doc => csvRow(doc, names)).join('')
    assert.deepEqual(await all(csv, 'a.csv', longest), want(2), csv)
  }
})

test('a line that is no document is said with its number, and the rest is read', async () => {
  const found = await all('{"a":1}\n\n{"b":\n[1]\n{"c":3}', 'a.jsonl')
  assert.deepEqual(found.map(one => one.at), [1, 3, 4, 5])
  assert.deepEqual(found.map(one => 'error' in one), [false, true, true, false])
})

test('rows have the members of the header', async () => {
  const found = await all('\ufeffname,"age ""in years""",tags\r\nAnna,30,"[""a"",""b""]"\nBert,,\n"a\nb",x,y,z\n', 'people.csv')
  assert.deepEqual(found, [
    { at: 2, doc: { name: 'Anna', 'age "in years"': 30, tags: ['a', 'b'] } },
    { at: 3, doc: { name: 'Bert' } },
    { at: 4, error: 'It has 4 cells, and the header has 3.' }
  ])
})

test('a file that is cut off says so', async () => {
  await assert.rejects(all('[{"a":1},{"b":', 'a.json'), /not closed/)
  await assert.rejects(all('a,b\n1,"2', 'a.csv'), /not closed/)
  assert.deepEqual(await all('', 'a.csv'), [])
  assert.deepEqual(await all('[]', 'a.json'), [])
})
