// A debug session: what the page knows of the handler that is held back, and the steps it can take.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLatest } from '../../use'
import type { Effects, FunctionApi } from './api'
import { describe, Protocol, type CallFrame, type RemoteObject } from './protocol'

export type Step = 'resume' | 'stepOver' | 'stepInto' | 'stepOut'

export interface Held {
  /** Whether the page is joined to a handler. */
  joined: boolean
  /** What was thrown, if that is why it stands. */
  thrown: string | undefined
  code: string | undefined
  frames: CallFrame[]
  effects: Effects | undefined
  /** Why the last session ended. */
  ended: string | undefined
}

const NOTHING: Held = { joined: false, thrown: undefined, code: undefined, frames: [], effects: undefined, ended: undefined }

/** useHandler joins the handler of a session and follows it. Lines of breakpoints count from 1. */
export function useHandler (api: FunctionApi, breakpoints: readonly number[]) {
  const [held, set] = useState<Held>(NOTHING)
  const protocol = useRef<Protocol>(undefined)
  const stored = useRef(new Map<number, string>()) // ids of breakpoints by line
  const change = (next: Partial<Held>) => set(before => ({ ...before, ...next }))

  const on = useLatest(async (method: string, params: { scriptId: string, callFrames: CallFrame[], data?: RemoteObject }) => {
    if (method === 'Debugger.scriptParsed') {
      const { scriptSource } = await protocol.current!.send<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId: params.scriptId })
      change({ code: scriptSource })
    } else if (method === 'Debugger.resumed') change({ frames: [] })
    else if (method === 'Debugger.paused') {
      change({ frames: params.callFrames, thrown: params.data && (params.data.description ?? String(params.data.value)) })
      change({ effects: await api.debugEffects() })
    }
  })

  // setBreakpoints makes those of the handler the same as those of the page.
  const setBreakpoints = useLatest(async () => {
    const one = protocol.current
    if (!one) return
    for (const [line, breakpointId] of stored.current) {
      if (breakpoints.includes(line)) continue
      stored.current.delete(line)
      await one.send('Debugger.removeBreakpoint', { breakpointId }).catch(() => {})
    }
    for (const line of breakpoints) {
      if (stored.current.has(line)) continue
      stored.current.set(line, '')
      const made = await one.send<{ breakpointId: string }>('Debugger.setBreakpointByUrl', { url: 'handler.js', lineNumber: line - 1 }).catch(() => undefined)
      if (made) stored.current.set(line, made.breakpointId)
      else stored.current.delete(line)
    }
  })
  useEffect(() => { void setBreakpoints() }, [breakpoints, held.joined])
  useEffect(() => () => protocol.current?.close(), [])

  const join = useLatest(async () => {
    if (protocol.current) return
    stored.current.clear()
    const one = new Protocol(api.debugSocket, (method, params) => { void on(method, params) }, reason => {
      protocol.current = undefined
      set({ ...NOTHING, ended: reason || 'the connection has ended' })
    })
    protocol.current = one
    set({ ...NOTHING, joined: true })
    await one.send('Runtime.enable')
    await one.send('Debugger.enable')
    await setBreakpoints()
    await one.send('Runtime.runIfWaitingForDebugger')
  })

  return {
    held,
    join,
    step: (step: Step) => { protocol.current?.send(`Debugger.${step}`).catch(() => {}) },
    /** The members of an object. */
    members: async (objectId: string) => {
      const { result } = await protocol.current!.send<{ result: { name: string, value?: RemoteObject }[] }>(
        'Runtime.getProperties', { objectId, ownProperties: true })
      return result.filter(one => one.name !== '__proto__')
    },
    /** What an expression is in a frame. */
    evaluate: async (callFrameId: string, expression: string): Promise<string> => {
      try {
        const { result, exceptionDetails } = await protocol.current!.send<{ result: RemoteObject, exceptionDetails?: { exception: RemoteObject } }>(
          'Debugger.evaluateOnCallFrame', { callFrameId, expression, throwOnSideEffect: false })
        return exceptionDetails ? describe(exceptionDetails.exception).split('\n')[0]! : describe(result)
      } catch (error) {
        return (error as Error).message
      }
    }
  }
}

export type Handler = ReturnType<typeof useHandler>
