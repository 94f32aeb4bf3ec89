// A button with a list of actions below it.
import { type ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface MenuItem {
  title: ComponentChildren
  run: () => void
  danger?: boolean
  disabled?: boolean
}

/** Menu opens by click, Enter or arrow down; arrows move, Escape closes. */
export function Menu ({ label, items, children }: { label: string, items: MenuItem[], children?: ComponentChildren }) {
  const [open, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!open) return
    box.current?.querySelector<HTMLElement>('[role=menuitem]:not(:disabled)')?.focus()
    const away = (event: Event) => { if (!box.current?.contains(event.target as Node)) setOpen(false) }
    addEventListener('pointerdown', away)
    return () => removeEventListener('pointerdown', away)
  }, [open])
  const keys = (event: KeyboardEvent) => {
    const all = [...box.current!.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)')]
    const at = all.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape' && open) {
      setOpen(false)
      box.current!.querySelector<HTMLElement>('button')!.focus()
    } else if (event.key === 'ArrowDown' && !open) setOpen(true)
    else if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus()
    else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class='menu' ref={box} onKeyDown={keys}>
      <button type='button' class='button plain' aria-haspopup='menu' aria-expanded={open} aria-label={typeof children === 'string' ? `${children}: ${label}` : label} onClick={() => setOpen(!open)}>
        {children ?? label}
      </button>
      {open && (
        <div role='menu' aria-label={label}>
          {items.map((item, i) => (
            <button
              key={i} type='button' role='menuitem' class={item.danger ? 'danger' : undefined} disabled={item.disabled}
              onClick={() => { setOpen(false); item.run() }}
            >
              {item.title}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
