// The code editor, which loads when it is first needed.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLatest } from '../use'
import type { Driver, Language } from './codemirror'

/** A mark is something to say at a place of the text: an error at its member, the cost of a line. */
export interface Mark {
  /** Characters from the start of the text. */
  from: number
  to: number
  severity: 'error' | 'warning' | 'info'
  message: string
}

export interface EditorProps {
  label: string
  value: string
  language: Language
  onChange?: (text: string) => void
  /** Ctrl+S, and Ctrl+Enter if there is no onRun. */
  onSave?: () => void
  /** Ctrl+Enter. */
  onRun?: () => void
  readOnly?: boolean
  marks?: Mark[]
  /** Words that are offered while typing, with what each is. */
  complete?: Completion[]
  /** Lines of the gutter: numbers of lines that have a breakpoint; onBreakpoint is told of a click beside a line. */
  breakpoints?: number[]
  onBreakpoint?: (line: number) => void
  /** The line where a program stands. */
  current?: number | undefined
  /** What each line costs, 0 to 1, shown as heat beside it, with its words. */
  heat?: Map<number, { share: number, title: string }>
}

export interface Completion {
  label: string
  detail?: string
  /** Where it fits: after a `"` that begins a member's name, or anywhere. */
  kind?: 'member' | 'operator' | 'function' | 'value'
}

/** Editor shows text to edit or to read. Until CodeMirror is there, and if it does not come, it is a plain text field. */
export function Editor (props: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const driver = useRef<Driver>(undefined)
  const [ready, setReady] = useState(false)
  const resume = useRef<number | undefined>(undefined)
  const events = {
    change: useLatest((text: string) => props.onChange?.(text)),
    save: useLatest(() => { (props.onSave ?? props.onRun)?.() }),
    run: useLatest(() => { (props.onRun ?? props.onSave)?.() }),
    breakpoint: useLatest((line: number) => props.onBreakpoint?.(line))
  }
  const newest = useRef(props)
  newest.current = props
  useEffect(() => {
    let gone = false
    import('./codemirror').then(({ mount }) => {
      const element = host.current
      if (gone || !element) return
      const field = document.activeElement
      const { value, label, language, onBreakpoint } = newest.current
      driver.current = mount(element, { value, label, language, events, breakpoints: onBreakpoint !== undefined })
      driver.current.update(newest.current)
      if (field instanceof HTMLTextAreaElement && element.parentElement!.contains(field)) resume.current = field.selectionStart
      setReady(true)
    }, () => {})
    return () => {
      gone = true
      driver.current?.destroy()
      driver.current = undefined
    }
  }, [props.language])
  useEffect(() => { driver.current?.update(props) })
  // Who has begun to type in the plain field goes on in the editor: no key comes between them.
  useLayoutEffect(() => {
    if (ready && resume.current !== undefined) driver.current?.focus(resume.current)
  }, [ready])
  const keys = (event: KeyboardEvent) => {
    const run = event.ctrlKey || event.metaKey ? { s: events.save, Enter: events.run }[event.key] : undefined
    if (!run) return
    event.preventDefault()
    run()
  }
  return (
    <div class='editor'>
      <div ref={host} class='editor-host' hidden={!ready} />
      {!ready && (
        <textarea
          aria-label={props.label} readOnly={props.readOnly} spellcheck={false} value={props.value}
          onInput={event => props.onChange?.(event.currentTarget.value)} onKeyDown={keys}
        />
      )}
    </div>
  )
}
