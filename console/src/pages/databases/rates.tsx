// How quickly databases change: the difference of their sequences while the list is open.
import { useEffect, useState } from 'preact/hooks'
import { post } from '../../api'
import { rate } from '../../format'

const EVERY = 4000 // milliseconds between two looks

interface Look {
  time: number
  /** Changes since the database was made. */
  changes: number
  rate?: number
}

interface Infos {
  key: string
  info?: { update_seq: string }
}

// The databases whose row is in the page, with how often it is, and who is told of their rates.
const seen = new Map<string, number>()
const looks = new Map<string, Look>()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setTimeout> | undefined

// look asks for all databases that can be seen at once: a table has some tens of rows in the page.
async function look (): Promise<void> {
  const keys = [...seen.keys()].slice(0, 100)
  if (!document.hidden && keys.length > 0) {
    try {
      const infos = await post<Infos[]>('/_dbs_info', { keys }, { quiet: true })
      const time = performance.now()
      for (const { key, info } of infos) {
        if (!info) continue
        const changes = Number.parseInt(info.update_seq, 10)
        const before = looks.get(key)
        const passed = before && (time - before.time) / 1000
        looks.set(key, { time, changes, ...(passed && { rate: Math.max(0, changes - before.changes) / passed }) })
      }
      for (const tell of listeners) tell()
    } catch {}
  }
  timer = seen.size > 0 ? setTimeout(() => { void look() }, EVERY) : undefined
}

function see (name: string): () => void {
  seen.set(name, (seen.get(name) ?? 0) + 1)
  timer ??= setTimeout(() => { void look() }, 500)
  return () => {
    const left = seen.get(name)! - 1
    if (left > 0) seen.set(name, left)
    else {
      // What was known is too old when the row comes into view again.
      seen.delete(name)
      looks.delete(name)
    }
  }
}

/** Rate is how many changes a database has in a second, as long as its row can be seen. */
export function Rate ({ name }: { name: string }) {
  const [now, set] = useState(looks.get(name)?.rate)
  useEffect(() => {
    const tell = () => set(looks.get(name)?.rate)
    listeners.add(tell)
    const gone = see(name)
    return () => {
      listeners.delete(tell)
      gone()
    }
  }, [name])
  return <>{now === undefined ? '' : rate(now)}</>
}
