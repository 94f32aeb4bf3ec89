// Small parts: buttons, fields, notices, states, tabs.
import { type ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { ApiError, AwayError } from '../api'

/** A tone says what a colour means; a word or a shape always says the same beside it. */
export type Tone = 'running' | 'waiting' | 'failed' | 'deleted' | 'done'

interface ButtonProps {
  children: ComponentChildren
  kind?: 'primary' | 'danger' | 'plain' | 'normal'
  type?: 'button' | 'submit'
  busy?: boolean
  disabled?: boolean | undefined
  title?: string
  label?: string
  pressed?: boolean
  onClick?: (event: MouseEvent) => void
}

/** Button: `label` is its name for screen readers where the content is only a sign. */
export function Button ({ children, kind = 'normal', type = 'button', busy, disabled, title, label, pressed, onClick }: ButtonProps) {
  return (
    <button
      type={type} class={`button ${kind}`} disabled={disabled || busy} title={title} aria-label={label} aria-busy={busy}
      aria-pressed={pressed} onClick={onClick}
    >
      {children}
    </button>
  )
}

interface FieldProps {
  label: string
  hint?: ComponentChildren
  error?: string | undefined
  /** The control, with the id that the label names; describedBy is the id of hint and error. */
  children: (id: string, describedBy: string) => ComponentChildren
}

/** Field is a control with its label, a hint, and its error. */
export function Field ({ label, hint, error, children }: FieldProps) {
  const id = useId()
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      {children(id, `${id}-about`)}
      <div id={`${id}-about`} class='about'>{error ? <span role='alert'>{error}</span> : hint}</div>
    </div>
  )
}

/** Notice is a sentence in a box. */
export function Notice ({ kind, children }: { kind: Tone | 'hint', children: ComponentChildren }) {
  return <div class={`notice ${kind}`} role={kind === 'failed' ? 'alert' : 'status'}>{children}</div>
}

/** State is a word with the shape and colour of what it means. */
export function State ({ tone, children }: { tone: Tone, children: ComponentChildren }) {
  return <span class={`state ${tone}`}>{children}</span>
}

/** Empty teaches: what would stand here, one button, one line of curl. */
export function Empty ({ title, children, action, curl }: {
  title: string, children?: ComponentChildren, action?: ComponentChildren, curl?: string
}) {
  return (
    <div class='empty'>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
      {curl && <Code>{curl}</Code>}
    </div>
  )
}

const ADVICE: Record<number, string> = {
  401: 'Sign in as somebody who may do this.',
  403: 'Somebody who administers this has to allow it, or a rule of the database forbids it.',
  404: 'It was deleted or renamed, or the name has a typing error.',
  409: 'Somebody changed it meanwhile: load it again and make the change there.',
  412: 'One with this name exists: choose another name.',
  413: 'It is larger than the settings allow.',
  503: 'The server has too much to do or cannot reach its store: try again in a moment.'
}

/** Failure says what happened, why, and what to do. */
export function Failure ({ error, doing, again }: { error: Error, doing: string, again?: () => void }) {
  return (
    <Notice kind='failed'>
      <strong>{doing} failed.</strong>{' '}
      {error instanceof ApiError ? <>{error.reason || error.error} ({error.error}). {ADVICE[error.status]}</> : error.message}
      {error instanceof AwayError && ' It is asked again until it answers.'}
      {again && <> <Button kind='plain' onClick={again}>Try again</Button></>}
    </Notice>
  )
}

/** Tabs are chosen by click or arrow keys. The panel is the caller's. */
export function Tabs<K extends string> ({ tabs, chosen, onChoose, label }: {
  tabs: { key: K, title: ComponentChildren }[], chosen: K, onChoose: (key: K) => void, label: string
}) {
  const list = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const at = tabs.findIndex(tab => tab.key === chosen)
    const next = (at + step + tabs.length) % tabs.length
    onChoose(tabs[next]!.key)
    ;(list.current?.children[next] as HTMLElement | undefined)?.focus()
  }
  return (
    <div class='tabs' role='tablist' aria-label={label} ref={list} onKeyDown={move}>
      {tabs.map(tab => (
        <button
          key={tab.key} role='tab' type='button' aria-selected={tab.key === chosen} tabIndex={tab.key === chosen ? 0 : -1}
          onClick={() => onChoose(tab.key)}
        >
          {tab.title}
        </button>
      ))}
    </div>
  )
}

/** Bar shows a share of a whole, 0 to 1, with its words beside it. */
export function Bar ({ share, label, tone = 'running' }: { share: number, label: string, tone?: Tone }) {
  const fill = useRef<HTMLSpanElement>(null)
  const percent = Math.max(0, Math.min(100, share * 100))
  useEffect(() => { fill.current!.style.width = `${percent}%` }, [percent])
  return (
    <span class='bar' role='progressbar' aria-label={label} aria-valuenow={Math.round(percent)} aria-valuemin={0} aria-valuemax={100}>
      <span class={tone} ref={fill} />
    </span>
  )
}

/** Code is text to copy, with a button that does it. */
export function Code ({ children, label }: { children: string, label?: string }) {
  return (
    <div class='code'>
      <pre tabIndex={0} aria-label={label}>{children}</pre>
      <Button kind='plain' label='Copy' onClick={() => { void navigator.clipboard?.writeText(children) }}>Copy</Button>
    </div>
  )
}
