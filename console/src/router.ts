// Places of the console: each has a URL below /_console/, so that back, reload and a link to a colleague work. What is
// chosen or filtered within a place is in the query.
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

export const BASE = '/_console/'

export interface Place {
  /** The parts of the path below BASE, decoded: ["databases", "a/b"]. */
  parts: string[]
  query: URLSearchParams
}

const listeners = new Set<() => void>()

function here (): Place {
  const parts = location.pathname.slice(BASE.length).split('/').filter(part => part !== '').map(decode)
  return { parts, query: new URLSearchParams(location.search) }
}

// decode leaves a part alone that is not the encoding of anything, as people type them.
function decode (part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** href is the URL of a place: href(["databases", "a/b"], {doc: "x"}). Members of the query that are empty are left out. */
export function href (parts: string[], query: Record<string, string | undefined> = {}): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value) params.set(key, value)
  const search = params.toString()
  return BASE + parts.map(encodeURIComponent).join('/') + (search && `?${search}`)
}

type Guard = () => boolean | Promise<boolean>
let guard: Guard | undefined

/** hold asks before the place is left, while there is something unsaved; undefined ends that. Reloads ask as well. */
export function hold (ask: Guard | undefined): void {
  guard = ask
}

addEventListener('beforeunload', event => { if (guard) event.preventDefault() })

/** go opens a place, in the history's newest entry if replace is true. Resolves to false if the user stays. */
export async function go (to: string, replace = false): Promise<boolean> {
  if (guard && new URL(to, location.href).pathname !== location.pathname) {
    if (!await guard()) return false
    guard = undefined
  }
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  for (const tell of listeners) tell()
  return true
}

addEventListener('popstate', () => {
  for (const tell of listeners) tell()
})

// Links within the console change the place without a new page.
addEventListener('click', event => {
  const link = (event.target as Element).closest?.('a')
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
  if (link.origin !== location.origin || !link.pathname.startsWith(BASE) || link.target || link.download) return
  event.preventDefault()
  void go(link.href)
})

const PlaceContext = createContext<Place>({ parts: [], query: new URLSearchParams() })
export const PlaceProvider = PlaceContext.Provider

/** usePlaceHere is for the shell alone: it follows the address of the window. */
export function usePlaceHere (): Place {
  const [place, set] = useState(here)
  useEffect(() => {
    const tell = () => set(here())
    listeners.add(tell)
    return () => { listeners.delete(tell) }
  }, [])
  return place
}

/** usePlace is the place that is shown. */
export function usePlace (): Place {
  return useContext(PlaceContext)
}

/**
 * useParam is one member of the query of the place, and sets it: with push a new entry of the history is made, so that
 * back undoes it.
 */
export function useParam (name: string): [string | undefined, (value: string | undefined, push?: boolean) => void] {
  const value = useContext(PlaceContext).query.get(name) ?? undefined
  return [value, (next, push = false) => {
    const url = new URL(location.href)
    if (next) url.searchParams.set(name, next)
    else url.searchParams.delete(name)
    if (url.href !== location.href) void go(url.href, !push)
  }]
}
