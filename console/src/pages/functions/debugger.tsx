// The debugger: catches an event, and looks into its handler.
import { useEffect, useState } from 'preact/hooks'
import { Button, Editor, Failure, Field, Notice, State, toast } from '../../ui'
import { useLoad, usePoll, useStored } from '../../use'
import { changeConfig, config, words, type Effects, type FunctionApi } from './api'
import { describe, type CallFrame, type Property, type RemoteObject } from './protocol'
import { useHandler, type Handler, type Step } from './session'

const EVENTS = { any: '', update: 'update', deletion: 'delete', expiry: 'expiry', timer: 'timer' }

const STEPS: [Step, string][] = [['resume', 'Continue'], ['stepOver', 'Step over'], ['stepInto', 'Step into'], ['stepOut', 'Step out']]

/** Debugger waits for an event of the function, and holds its handler back. Administrators only, as the API says. */
export function Debugger ({ api, code }: { api: FunctionApi, code: string }) {
  const settings = useLoad(() => config(), [])
  if (settings.error) return <Failure error={settings.error} doing='Asking for the debugger' again={settings.again} />
  if (!settings.value) return null
  if (settings.value.enable_debugger) return <Session api={api} code={code} />
  const enable = () => changeConfig({ enable_debugger: true }).then(settings.again, toast)
  return <p>The debugger is switched off. <Button onClick={enable}>Switch it on</Button></p>
}

function Session ({ api, code }: { api: FunctionApi, code: string }) {
  const [breakpoints, setBreakpoints] = useStored<number[]>(`breakpoints-${api.path}`, [])
  const handler = useHandler(api, breakpoints)
  const { held } = handler
  const session = usePoll(() => api.debugSession(), 1000, [])
  const [frame, setFrame] = useState(0)
  useEffect(() => setFrame(0), [held.frames])
  useEffect(() => { if (session.value?.caught && !held.joined) void handler.join() }, [session.value])
  const stop = (drop: boolean) => api.stopDebugger(drop).then(session.again, (error: Error) => toast(new Error(words(error))))
  const toggle = (line: number) => setBreakpoints(breakpoints.includes(line) ? breakpoints.filter(one => one !== line) : [...breakpoints, line])
  const waiting = session.value?.debugging === true
  const at = held.frames[frame]
  return (
    <>
      {!waiting && !held.joined && <Catch api={api} again={session.again} />}
      <p role='status'>{status(held.joined, session.value, held.ended)}</p>
      {held.thrown && <Notice kind='failed'>{held.thrown}</Notice>}
      <div class='row' role='group' aria-label='Steps'>
        {held.joined && STEPS.map(([step, title]) => <Button key={step} disabled={!at} onClick={() => handler.step(step)}>{title}</Button>)}
        {waiting && <Button onClick={() => stop(false)}>{held.joined ? 'Let go' : 'Stop waiting'}</Button>}
        {held.joined && <Button kind='danger' onClick={() => stop(true)}>Throw away</Button>}
      </div>
      <div class='debugging'>
        <Editor
          label='Code with breakpoints' language='javascript' value={held.code ?? code} readOnly breakpoints={breakpoints} onBreakpoint={toggle}
          current={at && at.location.lineNumber + 1}
        />
        {held.joined && (
          <div class='stack'>
            <h2>Calls</h2>
            <div class='stack tight'>
              {held.frames.map((one, i) => (
                <Button key={one.callFrameId} kind='plain' pressed={i === frame} onClick={() => setFrame(i)}>
                  {`${one.functionName || '(anonymous)'}, line ${one.location.lineNumber + 1}`}
                </Button>
              ))}
            </div>
            <h2>Variables</h2>
            {at?.scopeChain.filter(scope => scope.type !== 'global').map((scope, i) => (
              <div key={`${at.callFrameId} ${i}`}><span class='muted small'>{scope.type}</span><Members handler={handler} of={scope.object} turn={held.frames} /></div>
            ))}
            <Watches handler={handler} frame={at} />
            {held.effects && <Done effects={held.effects} />}
          </div>
        )}
      </div>
      {!held.joined && <p class='muted small'>Click beside a line, or press F9 in it, to set a breakpoint. Only the event that is caught stops there; all others go on.</p>}
    </>
  )
}

function status (joined: boolean, session: { debugging: boolean, event?: string, ends?: string } | undefined, ended: string | undefined) {
  if (joined) return <State tone='waiting'>{`The event of ${session?.event ?? 'a document'} is held back; its handler has no effects.`}</State>
  if (session?.debugging) return <State tone='waiting'>{`Waits for an event until ${new Date(session.ends ?? 0).toLocaleTimeString()}.`}</State>
  return ended && `The session is over: ${ended}.`
}

function Catch ({ api, again }: { api: FunctionApi, again: () => void }) {
  const [kind, setKind] = useState<keyof typeof EVENTS>('any')
  const [of, setOf] = useState('')
  const [selector, setSelector] = useState('')
  const [error, setError] = useState<string>()
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    try {
      await api.startDebugger({ event: EVENTS[kind], id: of, ...(selector.trim() !== '' && { selector: JSON.parse(selector) as unknown }) })
      setError(undefined)
      again()
    } catch (e) {
      setError(words(e as Error))
    }
  }
  return (
    <form onSubmit={submit} class='stack'>
      <div class='columns'>
        <Field label='Event'>
          {id => (
            <select id={id} value={kind} onChange={event => setKind(event.currentTarget.value as keyof typeof EVENTS)}>
              {Object.keys(EVENTS).map(one => <option key={one}>{one}</option>)}
            </select>
          )}
        </Field>
        <Field label='Document or timer' hint='Empty: any'>
          {(id, about) => <input id={id} aria-describedby={about} value={of} onInput={event => setOf(event.currentTarget.value)} />}
        </Field>
        <Field label='Selector' hint='What the document or timer matches: {"total": {"$gt": 100}}'>
          {(id, about) => <input id={id} aria-describedby={about} value={selector} onInput={event => setSelector(event.currentTarget.value)} />}
        </Field>
      </div>
      {error && <Notice kind='failed'>{error}</Notice>}
      <div class='row'><Button kind='primary' type='submit'>Catch an event</Button></div>
    </form>
  )
}

/** Members are filled in when they have come; objects in them open. */
function Members ({ handler, of, turn }: { handler: Handler, of: RemoteObject, turn: unknown }) {
  const [all, set] = useState<Property[]>([])
  useEffect(() => {
    let gone = false
    handler.members(of.objectId!).then(members => { if (!gone) set(members) }, () => {})
    return () => { gone = true }
  }, [of.objectId, turn])
  return (
    <ul class='plain-list mono'>
      {all.map(({ name, value }) => (
        <li key={name}>
          {value?.objectId && value.type !== 'function' ? <Opened name={name} value={value} handler={handler} turn={turn} /> : `${name}: ${describe(value)}`}
        </li>
      ))}
    </ul>
  )
}

function Opened ({ name, value, handler, turn }: { name: string, value: RemoteObject, handler: Handler, turn: unknown }) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{`${name}: ${describe(value)}`}</summary>
      {open && <Members handler={handler} of={value} turn={turn} />}
    </details>
  )
}

function Watches ({ handler, frame }: { handler: Handler, frame: CallFrame | undefined }) {
  const [watches, setWatches] = useStored<string[]>('watches', [])
  const [typed, setTyped] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  useEffect(() => {
    if (!frame) return
    let gone = false
    void Promise.all(watches.map(async one => [one, await handler.evaluate(frame.callFrameId, one)] as const))
      .then(all => { if (!gone) setValues(Object.fromEntries(all)) })
    return () => { gone = true }
  }, [frame, watches])
  const add = () => {
    if (typed !== '' && !watches.includes(typed)) setWatches([...watches, typed])
    setTyped('')
  }
  return (
    <>
      <h2>Watches</h2>
      <ul class='plain-list mono'>
        {watches.map(one => (
          <li key={one}>{`${one}: ${values[one] ?? ''} `}<Button kind='plain' label={`Watch ${one} no more`} onClick={() => setWatches(watches.filter(other => other !== one))}>×</Button></li>
        ))}
      </ul>
      <input
        aria-label='Watch an expression' placeholder='Watch an expression' value={typed} onInput={event => setTyped(event.currentTarget.value)}
        onKeyDown={event => { if (event.key === 'Enter') add() }}
      />
    </>
  )
}

function Done ({ effects: e }: { effects: Effects }) {
  const lists: [string, string[]][] = [
    ['Written', e.writes.map(w => `${w.database}/${w.id}: ${w.deleted ? 'deleted' : JSON.stringify(w.doc)}`)],
    ['Timers', e.timers.map(t => `${t.callback} ${t.reference}${t.cancelled ? ': cancelled' : ` at ${t.due}`}`)],
    ['Read', e.reads.map(r => `${r.database}/${r.id}${r.found ? '' : ': missing'}`)],
    ['Requests, not made', e.requests.map(r => `${r.method} ${r.binding}${r.path}`)],
    ['Statements', e.statements],
    ['Log', e.log]
  ]
  const some = lists.filter(([, entries]) => entries.length > 0)
  return (
    <>
      <h2>Effects so far</h2>
      {some.length === 0 && <p class='muted'>None.</p>}
      {some.map(([title, entries]) => (
        <div key={title}>
          <span class='muted small'>{title}</span>
          <ul class='plain-list mono'>{entries.map((entry, i) => <li key={i}>{entry}</li>)}</ul>
        </div>
      ))}
      {e.left_off > 0 && <p class='muted'>and {e.left_off} more</p>}
    </>
  )
}
