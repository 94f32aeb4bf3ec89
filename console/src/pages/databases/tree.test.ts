import { test } from 'node:test'
import assert from 'node:assert/strict'
import { generation, layout, leavesOf, winnerOf, type Leaf } from './tree'

const leaf = (line: string, deleted = false): Leaf => ({ rev: line.split(' ')[0]!, deleted, line: line.split(' ') })

test('the winner is no tombstone, has most generations, and then the greatest hash', () => {
  assert.equal(winnerOf([leaf('3-a 2-a 1-a', true), leaf('2-b 1-a'), leaf('2-c 1-a')]), '2-c')
  assert.equal(winnerOf([leaf('2-z 1-a'), leaf('10-a 9-a')]), '10-a')
  assert.equal(winnerOf([leaf('2-a', true), leaf('3-a', true)]), '3-a')
  assert.equal(winnerOf([]), undefined)
})

test('an answer of open_revs is leaves with their lines', () => {
  const ok = { _id: 'a', _rev: '3-c', _deleted: true, _revisions: { start: 3, ids: ['c', 'b', 'a'] } }
  assert.deepEqual(leavesOf([{ ok }, {}]), [{ rev: '3-c', deleted: true, line: ['3-c', '2-b', '1-a'] }])
})

test('each revision has one place: a child right of its parent, branches in rows, old generations left out', () => {
  // Random trees: each new revision has any earlier one as its parent.
  let seed = 7
  const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n
  for (let round = 0; round < 200; round++) {
    const parents = new Map<string, string | undefined>()
    for (let i = 0; i < 1 + random(40); i++) {
      const all = [...parents.keys()]
      const parent = all.length > 0 && random(10) > 0 ? all[random(all.length)] : undefined
      parents.set(`${parent === undefined ? 1 : generation(parent) + 1}-${i}`, parent)
    }
    const inner = new Set(parents.values())
    const leaves = [...parents.keys()].filter(rev => !inner.has(rev)).map(rev => {
      const line = [rev]
      for (let at = parents.get(rev); at !== undefined; at = parents.get(at)) line.push(at)
      return { rev, deleted: random(3) === 0, line }
    })
    const newest = 1 + random(12)
    const { nodes, columns, rows, winner, earlier } = layout(leaves, new Map(), newest)
    const last = Math.max(...leaves.map(one => generation(one.rev)))
    assert.equal(winner, winnerOf(leaves))
    assert.equal(columns + earlier, last)
    assert.equal(new Set(nodes.map(node => node.rev)).size, nodes.length)
    assert.equal(nodes.filter(node => node.leaf).length, leaves.length)
    for (const rev of parents.keys()) {
      assert.equal(nodes.some(node => node.rev === rev), generation(rev) > earlier || !inner.has(rev), rev)
    }
    for (const node of nodes) {
      assert.ok(node.column >= 0 && node.column < columns && node.row >= 0 && node.row < rows)
      const parent = nodes.find(other => other.rev === node.parent)
      if (generation(node.rev) > earlier) assert.equal(node.parent, generation(node.rev) - 1 > earlier ? parents.get(node.rev) : undefined)
      if (parent) assert.ok(parent.column < node.column && parent.row <= node.row)
      else assert.equal(node.parent, undefined)
    }
  }
})
