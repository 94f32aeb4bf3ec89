// How pages are divided: a title with actions, a list with the inspector of the chosen thing beside it.
import { type ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'

interface PageProps {
  title: string
  /** The parts of the header before the title. */
  path?: ComponentChildren
  actions?: ComponentChildren
  /** A page of docs/ that explains this one: "views.md". */
  help?: string
  /** The line at the end: rows, milliseconds, the index that was used, live or paused. */
  status?: ComponentChildren
  children: ComponentChildren
}

const DOCS = 'https://github.com/settee-db/settee/blob/main/docs/'

/** Page is one place of the console. */
export function Page ({ title, path, actions, help, status, children }: PageProps) {
  useEffect(() => { document.title = `${title} – settee` }, [title])
  return (
    <main class='page' id='main' tabIndex={-1}>
      <div class='page-head'>
        <div class='path'>{path}<h1>{title}</h1></div>
        <div class='row'>
          {actions}
          {help && <a class='help' href={DOCS + help} target='_blank' rel='noreferrer' aria-label={`Manual: ${title}`}>Manual</a>}
        </div>
      </div>
      <div class='page-body'>{children}</div>
      {status !== undefined && <div class='status' role='status'>{status}</div>}
    </main>
  )
}

/** Split is a list and, if there is one, the inspector beside it; on a phone the inspector stands over the list. */
export function Split ({ list, inspector, label, onClose, narrow }: {
  list: ComponentChildren, inspector?: ComponentChildren, label: string, onClose: () => void
  /** The inspector has most of the room. */
  narrow?: boolean
}) {
  return (
    <div class={`split${inspector ? ' open' : ''}${narrow ? ' narrow-list' : ''}`}>
      <div class='list'>{list}</div>
      {inspector && (
        <section class='inspector' aria-label={label}>
          <button type='button' class='button plain close' aria-label='Close' onClick={onClose}>×</button>
          {inspector}
        </section>
      )}
    </div>
  )
}
