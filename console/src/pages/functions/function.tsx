// One function: its state and what can be done, its plots, and its parts.
import { useState } from 'preact/hooks'
import { saveJSON } from '../../files'
import { useParam } from '../../router'
import { Bar, Button, confirm, Failure, State, Tabs, toast, type Tone } from '../../ui'
import { useLoad, usePoll } from '../../use'
import { words, type Composite, type Definition, type FunctionApi, type Status } from './api'
import { Bindings } from './bindings'
import { Charts } from './charts'
import { CodePanel } from './code'
import { Debugger } from './debugger'
import { Letters } from './letters'
import { Log } from './log'
import { Settings } from './settingsform'
import { Trial } from './trial'

const PARTS = [
  { key: 'code', title: 'Code' }, { key: 'bindings', title: 'Bindings' }, { key: 'settings', title: 'Settings' },
  { key: 'test', title: 'Test' }, { key: 'debug', title: 'Debug' }, { key: 'log', title: 'Log' },
  { key: 'letters', title: 'Dead letters' }
] as const

type Part = (typeof PARTS)[number]['key']

const OPERATIONS: Partial<Record<Composite, [operation: string, title: string][]>> = {
  undeployed: [['deploy', 'Deploy']], paused: [['resume', 'Resume'], ['undeploy', 'Undeploy']],
  deployed: [['pause', 'Pause'], ['undeploy', 'Undeploy']]
}

/** toneOf is what a state of a function means. */
export function toneOf (state: Composite): Tone {
  return state === 'deployed' ? 'running' : state === 'undeployed' ? 'deleted' : 'waiting'
}

interface FunctionProps {
  api: FunctionApi
  status: Status
  again: () => void
  gone: () => void
}

export function FunctionView ({ api, status, again, gone }: FunctionProps) {
  const [chosen, choose] = useParam('part')
  const [line, setLine] = useState<number>()
  const part: Part = PARTS.find(one => one.key === chosen)?.key ?? 'code'
  const definition = useLoad(() => api.get(), [api])
  const state = status.composite_status
  const deployed = state !== 'undeployed' && state !== 'paused'
  const stats = usePoll(async () => state === 'undeployed' ? undefined : await api.stats(), 2000, [api, state])
  if (definition.error) return <Failure error={definition.error} doing='Reading the function' again={definition.again} />
  if (!definition.value) return null
  const stored = definition.value
  const saved = async (what: string, answer: Promise<{ warning_info?: string[] }>) => {
    const { warning_info: warnings } = await answer.catch((error: Error) => { throw new Error(words(error)) })
    toast([`${what} saved.`, ...warnings ?? []].join(' '))
    definition.again()
  }
  return (
    <>
      <div class='row'>
        <h2 class='inspector-title'>{api.name}</h2>
        <State tone={toneOf(state)}>{state + (status.redeploy_required ? ', changed since' : '')}</State>
        <Operations api={api} state={state} stored={stored} timers={stats.value?.execution_stats?.timer_create_counter} again={again} gone={gone} />
      </div>
      {part !== 'debug' && <Charts stats={stats.value} />}
      <Tabs label='Parts of the function' tabs={[...PARTS]} chosen={part} onChoose={key => { setLine(undefined); choose(key, true) }} />
      {part === 'code' && <CodePanel api={api} stored={stored} deployed={deployed} running={state !== 'undeployed'} line={line} saved={() => { definition.again(); again() }} />}
      {part === 'bindings' && <Bindings stored={stored.depcfg} save={deps => saved('Bindings', api.saveBindings(deps))} />}
      {part === 'settings' && <Settings stored={stored.settings} save={changed => saved('Settings', api.saveSettings(changed))} />}
      {part === 'test' && <Trial api={api} goTo={at => { setLine(at); choose('code', true) }} />}
      {part === 'debug' && <Debugger api={api} code={stored.appcode} />}
      {part === 'log' && <Log api={api} />}
      {part === 'letters' && <Letters api={api} />}
    </>
  )
}

function Operations ({ api, state, stored, timers, again, gone }: {
  api: FunctionApi, state: Composite, stored: Definition, timers: number | undefined, again: () => void, gone: () => void
}) {
  const [busy, setBusy] = useState(false)
  const run = async (what: () => Promise<unknown>, done: string) => {
    setBusy(true)
    try {
      await what()
      toast(done)
    } catch (error) {
      toast(new Error(words(error as Error)))
    }
    setBusy(false)
    again()
  }
  const operate = async (operation: string, title: string) => {
    if (operation === 'undeploy') {
      const what = <>It stops reading {stored.depcfg.source_bucket}, and its timers and its place in the feed go{timers ? ` (${timers} timers were made so far)` : ''}. Pause keeps both.</>
      if (!await confirm(`Undeploy ${api.name}?`, what, 'Undeploy')) return
    }
    await run(() => api.operate(operation), `${title}: ${api.name}.`)
  }
  const drop = async () => {
    if (!await confirm(`Delete the function ${api.name}?`, 'Its code, bindings and settings go.', 'Delete')) return
    await run(() => api.remove(), `${api.name} was deleted.`)
    gone()
  }
  return (
    <div class='row' role='group' aria-label='Operations'>
      {(OPERATIONS[state] ?? []).map(([operation, title]) => (
        <Button key={operation} busy={busy} kind={operation === 'deploy' || operation === 'resume' ? 'primary' : operation === 'undeploy' ? 'danger' : 'normal'} onClick={() => operate(operation, title)}>{title}</Button>
      ))}
      {!(state in OPERATIONS) && <Bar share={0.5} label={state} tone='waiting' />}
      {state === 'undeployed' && <Button kind='danger' busy={busy} onClick={drop}>Delete</Button>}
      <Button kind='plain' onClick={() => saveJSON(stored, `${api.name}.json`)}>Export</Button>
    </div>
  )
}
