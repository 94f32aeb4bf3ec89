// Messages that come and go: what was done, and how to undo it.
import { type ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './parts'

interface Message {
  id: number
  text: ComponentChildren
  failed: boolean
  undo: (() => void) | undefined
}

let next = 0
let change: ((f: (messages: Message[]) => Message[]) => void) | undefined

/** toast says in a corner what was done; with undo there is a button for as long as it stands. Errors stay longer. */
export function toast (text: ComponentChildren | Error, undo?: () => void): void {
  const failed = text instanceof Error
  const id = next++
  change?.(messages => [...messages.slice(-3), { id, text: failed ? text.message : text, failed, undo }])
  setTimeout(() => change?.(messages => messages.filter(message => message.id !== id)), failed || undo ? 12_000 : 5_000)
}

export function Toasts () {
  const [messages, set] = useState<Message[]>([])
  change = set
  const drop = (id: number) => set(all => all.filter(message => message.id !== id))
  return (
    <div class='toasts' role='log' aria-live='polite' aria-label='Messages'>
      {messages.map(message => (
        <div key={message.id} class={message.failed ? 'toast failed' : 'toast'} role={message.failed ? 'alert' : undefined}>
          <span>{message.text}</span>
          {message.undo && <Button kind='plain' onClick={() => { message.undo!(); drop(message.id) }}>Undo</Button>}
          <Button kind='plain' label='Dismiss' onClick={() => drop(message.id)}>×</Button>
        </div>
      ))}
    </div>
  )
}
