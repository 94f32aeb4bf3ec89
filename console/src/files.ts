// Files that the browser keeps.

/** saveAs gives a blob to the browser as a file. */
export function saveAs (blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** saveJSON gives a value to the browser as a file. */
export function saveJSON (value: unknown, name: string): void {
  saveAs(new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' }), name)
}
