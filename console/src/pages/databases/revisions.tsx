// The revisions of a document as a tree, and the difference of two of them.
import { useLayoutEffect, useRef } from 'preact/hooks'
import { docPath, get } from '../../api'
import { plural } from '../../format'
import { useParam } from '../../router'
import { Button, Code, confirm, Failure, Notice, toast } from '../../ui'
import { useLoad } from '../../use'
import { Difference } from './difference'
import type { Shown } from './inspector'
import { deleteDoc, readDoc, restore } from './store'
import { generation, layout, leavesOf, type Kept, type Node, type Tree } from './tree'
import { pretty, type Doc } from './types'

const ACROSS = 64 // pixels between generations
const DOWN = 40 // pixels between branches
const ASKED = 50 // ancestors of other branches that are asked for, since each comes with its body

type Opened = { ok?: Doc, missing?: string }[]

const openRevs = (db: string, id: string, revs: string[] | 'all', signal: AbortSignal, query: Doc = {}): Promise<Opened> =>
  get(docPath(db, id), { open_revs: revs === 'all' ? undefined : revs, ...query }, { signal, quiet: true })

// readTree asks for the leaves, for what is left of the winner's ancestors, and for those of the other branches.
async function readTree (db: string, id: string, signal: AbortSignal): Promise<Tree> {
  const leaves = leavesOf(await get<Opened>(docPath(db, id) + '?open_revs=all&revs=true', undefined, { signal, quiet: true }))
  const newest = await readDoc(db, id, { revs_info: true }, { signal, quiet: true })
  const infos = newest._revs_info as { rev: string, status: Kept }[]
  const kept = new Map(infos.map(info => [info.rev, info.status]))
  const others = [...new Set(leaves.flatMap(leaf => leaf.line.slice(1)))].filter(rev => !kept.has(rev))
  const asked = others.sort((a, b) => generation(b) - generation(a)).slice(0, ASKED)
  if (asked.length > 0) {
    for (const { ok } of await openRevs(db, id, asked, signal)) {
      if (ok) kept.set(ok._rev as string, ok._deleted ? 'deleted' : 'available')
    }
  }
  return layout(leaves, kept)
}

export function Revisions ({ db, id, doc, onStored, again }: Shown) {
  const { value: tree, error, again: readAgain } = useLoad(signal => readTree(db, id, signal), [doc])
  const [param, setParam] = useParam('revs')
  const chosen = param?.split(',') ?? []
  const choose = (rev: string) => {
    const next = chosen.includes(rev) ? chosen.filter(one => one !== rev) : [...chosen, rev].slice(-2)
    setParam(next.join(','))
  }
  if (error) return <Failure error={error} doing='Reading the revisions' again={readAgain} />
  if (!tree) return null
  const makeWinner = async (node: Node) => {
    const ends = node.leaf && node.kept === 'available'
    const what = `Its body becomes a new revision over ${short(tree.winner!)}, which stays in the tree${ends ? '; the branch it was on ends' : ''}.`
    if (!await confirm(`Make ${short(node.rev)} the winner?`, <p>{what}</p>, 'Make it the winner', false)) return
    try {
      const { rev } = await restore(db, id, node.rev)
      if (ends) await deleteDoc(db, id, node.rev)
      onStored([{ id, rev: rev!, doc: await readDoc(db, id) }])
      toast(`${short(node.rev)} is the current revision again.`)
      setParam(undefined)
    } catch (e) {
      toast(e as Error)
    }
    again()
  }
  const nodes = chosen.map(rev => tree.nodes.find(node => node.rev === rev)).filter(node => node !== undefined)
  return (
    <>
      <Picture tree={tree} chosen={chosen} onChoose={choose} />
      {nodes.length === 0 && <p class='muted'>Choose a revision to see it, and a second one to see what differs.</p>}
      <Chosen db={db} id={id} nodes={nodes} tree={tree} onWinner={node => { void makeWinner(node) }} />
    </>
  )
}

/** short is a revision as people tell them apart. */
export const short = (rev: string): string => rev.slice(0, rev.indexOf('-') + 7)

function about (node: Node): string {
  const words = [node.rev, node.kept === 'missing' ? 'its body is gone' : node.kept === 'deleted' ? 'tombstone' : 'its body is there']
  if (node.winner) words.push('the winner')
  else if (node.leaf) words.push('a leaf')
  return words.join(', ')
}

function Picture ({ tree, chosen, onChoose }: { tree: Tree, chosen: string[], onChoose: (rev: string) => void }) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => { box.current!.scrollLeft = box.current!.scrollWidth }, [tree])
  const x = (node: Node) => node.column * ACROSS + ACROSS / 2
  const y = (node: Node) => node.row * DOWN + 14
  const places = new Map(tree.nodes.map(node => [node.rev, node]))
  const keys = (node: Node) => (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    onChoose(node.rev)
  }
  return (
    <>
      <div class='revisions' ref={box} tabIndex={0} role='group' aria-label='Revisions'>
        <svg width={tree.columns * ACROSS} height={tree.rows * DOWN}>
          {tree.nodes.map(node => {
            const parent = node.parent === undefined ? undefined : places.get(node.parent)
            if (!parent) return null
            return <path key={`-${node.rev}`} d={`M${x(parent)} ${y(parent)}C${x(parent) + 24} ${y(parent)} ${x(node) - 40} ${y(node)} ${x(node)} ${y(node)}`} />
          })}
          {tree.nodes.map(node => (
            <g
              key={node.rev} role='button' tabindex={0} aria-pressed={chosen.includes(node.rev)} aria-label={about(node)}
              class={`${node.kept}${node.winner ? ' winner' : ''}`} onClick={() => onChoose(node.rev)} onKeyDown={keys(node)}
            >
              <title>{about(node)}</title>
              <rect x={x(node) - 28} y={y(node) - 12} width='56' height='36' />
              <circle cx={x(node)} cy={y(node)} r={node.winner ? 8 : 6} />
            </g>
          ))}
          {tree.nodes.map(node => (
            <text
              key={`text ${node.rev}`} x={x(node)} y={y(node) + 20} aria-hidden='true'
              class={`${node.winner ? 'winner' : ''}${chosen.includes(node.rev) ? ' chosen' : ''}`}
            >
              {short(node.rev).slice(0, -2)}
            </text>
          ))}
        </svg>
      </div>
      <p class='small muted'>
        ● bold: the winner · ○ hollow: a tombstone · ◌ dotted: its body is gone
        {tree.earlier > 0 && ` · ${plural(tree.earlier, 'earlier generation')} left out`}
      </p>
    </>
  )
}

function Chosen ({ db, id, nodes, tree, onWinner }: { db: string, id: string, nodes: Node[], tree: Tree, onWinner: (node: Node) => void }) {
  const revs = nodes.filter(node => node.kept !== 'missing').map(node => node.rev)
  const { value, error } = useLoad(signal => revs.length === 0 ? Promise.resolve([]) : openRevs(db, id, revs, signal), [revs.join()])
  const bodies = new Map(value?.filter(one => one.ok).map(({ ok }) => [ok!._rev as string, ok!]))
  const sorted = [...nodes].sort((a, b) => generation(a.rev) - generation(b.rev))
  const [a, b] = sorted.map(node => bodies.get(node.rev))
  return (
    <>
      {error && <Failure error={error} doing='Reading the revision' />}
      {sorted.map(node => (
        <div key={node.rev} class='row'>
          <code class='grow'>{node.rev}</code>
          {node.rev !== tree.winner && node.kept === 'available' && <Button onClick={() => onWinner(node)}>Make winner</Button>}
          {node.kept === 'missing' && <Notice kind='hint'>Compaction has removed its body.</Notice>}
        </div>
      ))}
      {a && b && <Difference before={pretty(a)} after={pretty(b)} names={[short(sorted[0]!.rev), short(sorted[1]!.rev)]} />}
      {nodes.length === 1 && a && <Code label={`Revision ${nodes[0]!.rev}`}>{pretty(a)}</Code>}
    </>
  )
}
