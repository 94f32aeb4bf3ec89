// Settings of the server: which are shown, and what is said of them.

/** A row of GET /_node/_local/_settings. An empty key says what any key of the section means. */
export interface Setting {
  section: string
  key: string
  value: string
  default: string
  origin: 'default' | 'file' | 'environment' | 'store' | 'memory'
  /** The file or the variable of the environment. */
  from?: string
  means: string
  restart: boolean
  effect: boolean
  /** The value is a mask. */
  secret: boolean
  /** It cannot be changed over HTTP. */
  fixed: boolean
}

/** nameOf is section/key, and section/ for the row about any key. */
export const nameOf = ({ section, key }: Setting): string => `${section}/${key}`

/** matching are the settings that have every word in their name, value or meaning; with changed those alone that are set. */
export function matching (settings: readonly Setting[], filter: string, changed: boolean): Setting[] {
  const words = filter.toLowerCase().split(/\s+/).filter(word => word !== '')
  return settings.filter(one => {
    if (changed && one.origin === 'default') return false
    const text = `${nameOf(one)}\n${one.value}\n${one.means}`.toLowerCase()
    return words.every(word => text.includes(word))
  })
}

/** whence says where the value in force is from. */
export function whence ({ origin, from }: Setting): string {
  switch (origin) {
    case 'default': return 'the default: nothing sets it'
    case 'file': return `the file ${from}`
    case 'environment': return `the variable ${from} of the environment`
    case 'store': return 'what the nodes on FoundationDB share'
    case 'memory': return 'a flag of the start, the server itself, or a change that was not written to a file'
  }
}

/** when says when a change counts. */
export function when ({ effect, restart }: Setting): string {
  if (!effect) return 'never: settee keeps the value and ignores it'
  return restart ? 'after the next start' : 'at once'
}

/** shown is a value as text; an empty one has a word. */
export const shown = (value: string): string => value === '' ? '(empty)' : value
