// How well a name fits what is typed.

/** score says how well a title fits what is typed: letters in order; undefined if they are not in it. Less is better. */
export function score (typed: string, title: string): number | undefined {
  const text = title.toLowerCase()
  const found = text.indexOf(typed.toLowerCase())
  if (found >= 0) return found
  let at = -1
  let gaps = 0
  for (const letter of typed.toLowerCase()) {
    const next = text.indexOf(letter, at + 1)
    if (next < 0) return undefined
    gaps += next - at - 1
    at = next
  }
  return 100 + gaps
}
