// A conversation in the Chrome DevTools protocol with a handler that is held back.

export interface RemoteObject {
  type: string
  value?: unknown
  description?: string
  objectId?: string
}

export interface CallFrame {
  callFrameId: string
  functionName: string
  location: { lineNumber: number }
  scopeChain: { type: string, object: RemoteObject }[]
}

export interface Property {
  name: string
  value?: RemoteObject
}

/** Protocol sends methods and is told of events. */
export class Protocol {
  private readonly socket: WebSocket
  private readonly opened: Promise<unknown>
  private readonly waiting = new Map<number, { resolve: (result: never) => void, reject: (error: Error) => void }>()
  private last = 0

  constructor (url: string, on: (method: string, params: never) => void, closed: (reason: string) => void) {
    this.socket = new WebSocket(url)
    this.opened = new Promise(resolve => this.socket.addEventListener('open', resolve))
    this.socket.addEventListener('close', event => {
      for (const { reject } of this.waiting.values()) reject(new Error('The connection has ended.'))
      closed(event.reason)
    })
    this.socket.addEventListener('message', ({ data }) => {
      const { id, method, params, result, error } = JSON.parse(String(data))
      if (method) return on(method, params as never)
      const one = this.waiting.get(id)
      this.waiting.delete(id)
      if (error) one?.reject(new Error(error.message))
      else one?.resolve(result as never)
    })
  }

  async send<T> (method: string, params: Record<string, unknown> = {}): Promise<T> {
    await this.opened
    const id = ++this.last
    return await new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.socket.send(JSON.stringify({ id, method, params }))
    })
  }

  close (): void {
    this.socket.close()
  }
}

/** describe is a value as a text. */
export function describe (value: RemoteObject | undefined): string {
  if (value === undefined) return ''
  return value.type === 'string' ? JSON.stringify(value.value) : value.description ?? String(value.value ?? value.type)
}
