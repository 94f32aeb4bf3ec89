// Dialogs: the browser's own element, so that focus stays inside and Escape closes.
import { type ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Button } from './parts'
import { Toasts } from './toast'

interface DialogProps {
  title: string
  children: ComponentChildren
  /** The buttons at the end. */
  actions?: ComponentChildren
  wide?: boolean
  onClose: () => void
  /** With it the content is a form, and Enter submits. */
  onSubmit?: () => void
}

/** Dialog is open as long as it is in the page. */
export function Dialog ({ title, children, actions, wide, onClose, onSubmit }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    ref.current!.showModal()
    return () => before?.focus?.()
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    onSubmit?.()
  }
  return (
    <dialog
      ref={ref} class={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id}
      onCancel={event => { event.preventDefault(); onClose() }}
    >
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        <div class='content'>{children}</div>
        {actions && <div class='row end'>{actions}</div>}
      </form>
    </dialog>
  )
}

interface Question {
  title: string
  /** What goes and how much: "2,014 timers go". */
  what: ComponentChildren
  /** The button that does it. */
  action: string
  danger: boolean
  answer: (yes: boolean) => void
}

let show: ((question: Question | undefined) => void) | undefined

/** confirm asks once before something is done that cannot be undone. */
export function confirm (title: string, what: ComponentChildren, action: string, danger = true): Promise<boolean> {
  return new Promise(resolve => {
    show?.({ title, what, action, danger, answer: resolve })
  })
}

/** Overlays is where questions and messages appear; it stands in the shell once. */
export function Overlays () {
  const [question, set] = useState<Question>()
  show = set
  const end = (yes: boolean) => {
    set(undefined)
    question!.answer(yes)
  }
  return (
    <>
      {question && (
        <Dialog
          title={question.title} onClose={() => end(false)} onSubmit={() => end(true)}
          actions={
            <>
              <Button kind='plain' onClick={() => end(false)}>Cancel</Button>
              <Button kind={question.danger ? 'danger' : 'primary'} type='submit'>{question.action}</Button>
            </>
          }
        >
          {question.what}
        </Dialog>
      )}
      <Toasts />
    </>
  )
}
