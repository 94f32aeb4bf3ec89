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
