// Hooks that pages share: what is loaded, what is repeated, what is typed.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { onReach } from './api'

export interface Loaded<T> {
  value: T | undefined
  error: Error | undefined
  busy: boolean
  /** Loads again; the value stays until the new one is there. */
  again: () => void
}

/**
 * useLoad loads a value when the page opens and whenever one of deps changes, and again when the server comes back. An
 * answer that is overtaken by a newer question is dropped.
 */
export function useLoad<T> (load: (signal: AbortSignal) => Promise<T>, deps: unknown[]): Loaded<T> {
  const [state, set] = useState<{ value?: T, error?: Error, busy: boolean }>({ busy: true })
  const [turn, setTurn] = useState(0)
  const again = useCallback(() => setTurn(n => n + 1), [])
  useEffect(() => {
    const stop = new AbortController()
    set(before => ({ ...before, busy: true }))
    load(stop.signal).then(
      value => { if (!stop.signal.aborted) set({ value, busy: false }) },
      (error: Error) => { if (!stop.signal.aborted) set(before => ({ ...before, error, busy: false })) }
    )
    return () => stop.abort()
  }, [...deps, turn])
  useEffect(() => onReach(reach => { if (reach === 'here') again() }), [])
  return { value: state.value, error: state.error, busy: state.busy, again }
}

/** usePoll is useLoad that loads again some milliseconds after each answer, while the page can be seen. */
export function usePoll<T> (load: (signal: AbortSignal) => Promise<T>, every: number, deps: unknown[]): Loaded<T> {
  const loaded = useLoad(load, deps)
  useEffect(() => {
    if (loaded.busy) return
    const timer = setInterval(() => { if (!document.hidden) loaded.again() }, every)
    return () => clearInterval(timer)
  }, [loaded.busy, every])
  return loaded
}

export interface Draft<T> {
  /** What the form shows: what is typed, and where nothing is, what the server has. */
  now: T
  /** What is typed and was not saved. */
  unsaved: Partial<T>
  type: (part: Partial<T>) => void
  /** saved is told what the server has taken, before it answers what it has now. */
  saved: (sent: Partial<T>) => void
}

/**
 * useDraft is a form over a value of the server, which comes anew at any time: after each save, and when the server was
 * away. It never takes what is typed away. What was sent and has not been changed since gives way to what the server
 * says when it says it again, so that nothing flickers, and a list comes back as the server keeps it. `has` is a new
 * object when, and only when, the server was asked.
 */
export function useDraft<T extends object> (has: T): Draft<T> {
  const [{ typed, sent }, set] = useState<{ typed: Partial<T>, sent: Partial<T> }>({ typed: {}, sent: {} })
  useEffect(() => set(draft => ({ typed: without(draft.typed, draft.sent), sent: {} })), [has])
  const type = useCallback((part: Partial<T>) => set(({ typed, sent }) => ({ typed: { ...typed, ...part }, sent })), [])
  const saved = useCallback((sent: Partial<T>) => set(({ typed }) => ({ typed, sent })), [])
  return { now: { ...has, ...typed }, unsaved: without(typed, sent), type, saved }
}

/** without is what is typed, less what is there as it was sent. */
export function without<T extends object> (typed: Partial<T>, sent: Partial<T>): Partial<T> {
  return Object.fromEntries(Object.entries(typed).filter(([name, value]) => !(name in sent && sent[name as keyof T] === value))) as Partial<T>
}

/** useLater is the value once it has not changed for some milliseconds: what is typed, before it is asked for. */
export function useLater<T> (value: T, ms = 200): T {
  const [late, set] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return late
}

/** useLatest is a function that never changes and calls the newest one: for listeners that are set once. */
export function useLatest<A extends unknown[], R> (f: (...args: A) => R): (...args: A) => R {
  const ref = useRef(f)
  ref.current = f
  return useCallback((...args: A) => ref.current(...args), [])
}

/** useStored is a value that this browser keeps, JSON under a name. */
export function useStored<T> (name: string, first: T): [T, (value: T) => void] {
  const [value, set] = useState<T>(() => {
    try {
      return JSON.parse(localStorage.getItem(`settee-${name}`) ?? 'null') ?? first
    } catch {
      return first
    }
  })
  return [value, next => {
    localStorage.setItem(`settee-${name}`, JSON.stringify(next))
    set(next)
  }]
}
