// The command palette: Ctrl+K, type a few letters, Enter.
import { createContext, type ComponentChildren } from 'preact'
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { score } from './match'
import { go } from './router'

export interface Command {
  title: string
  /** Beside the title: what kind of thing, or where it leads. */
  hint?: string
  /** Where it leads, or what it does. */
  to?: string
  run?: () => void
}

interface Palette {
  add: (commands: Command[]) => () => void
}

const Commands = createContext<Palette>({ add: () => () => {} })

/** useCommands offers commands in the palette while the page is open. Give a constant list, or one from useMemo. */
export function useCommands (commands: Command[]): void {
  const palette = useContext(Commands)
  useEffect(() => palette.add(commands), [commands])
}

/** WithCommands holds the commands of the page and of the shell, and finds more by what is typed: names of databases. */
export function WithCommands ({ always, find, children }: {
  always: Command[], find: (typed: string, signal: AbortSignal) => Promise<Command[]>, children: ComponentChildren
}) {
  const [open, setOpen] = useState(false)
  const [added, setAdded] = useState<Command[][]>([])
  const palette = useMemo<Palette>(() => ({
    add (commands) {
      setAdded(all => [...all, commands])
      return () => setAdded(all => all.filter(one => one !== commands))
    }
  }), [])
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
        event.preventDefault()
        setOpen(true)
      }
    }
    const show = () => setOpen(true)
    addEventListener('keydown', keys)
    addEventListener('opencommands', show)
    return () => {
      removeEventListener('keydown', keys)
      removeEventListener('opencommands', show)
    }
  }, [])
  return (
    <Commands.Provider value={palette}>
      {children}
      {open && <Chooser commands={[...added.flat(), ...always]} find={find} onClose={() => setOpen(false)} />}
    </Commands.Provider>
  )
}

function Chooser ({ commands, find, onClose }: {
  commands: Command[], find: (typed: string, signal: AbortSignal) => Promise<Command[]>, onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [found, setFound] = useState<Command[]>([])
  const [at, setAt] = useState(0)
  useEffect(() => { dialog.current!.showModal() }, [])
  useEffect(() => {
    const stop = new AbortController()
    const timer = setTimeout(() => { find(typed, stop.signal).then(setFound, () => {}) }, 80)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [typed])
  const fitting = commands
    .map(command => ({ command, score: score(typed, command.title) }))
    .filter(one => one.score !== undefined)
    .sort((a, b) => a.score! - b.score!)
    .map(one => one.command)
  const shown = [...fitting, ...found].slice(0, 50)
  const run = (command: Command | undefined) => {
    if (!command) return
    onClose()
    if (command.to) void go(command.to)
    command.run?.()
  }
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, shown.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') run(shown[at])
    else return
    event.preventDefault()
  }
  useEffect(() => { document.getElementById(`command-${at}`)?.scrollIntoView({ block: 'nearest' }) }, [at])
  return (
    <dialog ref={dialog} class='palette' aria-label='Commands' onCancel={onClose} onClick={event => { if (event.target === dialog.current) onClose() }}>
      <input
        role='combobox' aria-expanded='true' aria-controls='commands' aria-activedescendant={`command-${at}`} aria-label='Command'
        placeholder='Page, database or command' value={typed} onKeyDown={keys}
        onInput={event => { setTyped(event.currentTarget.value); setAt(0) }}
      />
      <div id='commands' role='listbox' aria-label='Commands'>
        {shown.map((command, i) => (
          <div
            key={`${command.title} ${command.hint} ${i}`} id={`command-${i}`} role='option' aria-selected={i === at}
            onPointerMove={() => setAt(i)} onClick={() => run(command)}
          >
            <span>{command.title}</span><span class='muted'>{command.hint}</span>
          </div>
        ))}
      </div>
    </dialog>
  )
}
