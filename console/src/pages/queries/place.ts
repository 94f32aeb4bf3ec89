// Where an error of the server stands in the text of a query.
import type { Mark } from '../../ui'

/** markOf is the place in a query's JSON that the server's reason names, if it names one. */
export function markOf (text: string, reason: string): Mark | undefined {
  const column = /line 1, column (\d+)/.exec(reason)
  if (column) {
    const value = /"(?:q|query)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)
    if (value) {
      const start = value.index + value[0].length - 1 - value[1]!.length
      const from = start + Math.min(Number(column[1]), Math.max(0, value[1]!.length - 1))
      return { from, to: from + 1, severity: 'error', message: reason }
    }
  }
  for (const word of namesOf(reason)) {
    const quoted = JSON.stringify(word)
    const from = text.indexOf(quoted)
    if (from >= 0) return { from, to: from + quoted.length, severity: 'error', message: reason }
  }
  return undefined
}

// namesOf are the words of a reason that may be members or values of the text; operators, which are unmistakable, first.
function namesOf (reason: string): string[] {
  const words = reason.match(/\$?[\w.]*\w/g) ?? []
  return [...words.filter(word => word.startsWith('$')), ...binaries(reason), ...words.filter(word => !word.startsWith('$'))]
}

// binaries are the texts in a reason that Erlang prints as <<"x">> or as bytes: <<120>>.
function binaries (reason: string): string[] {
  return [...reason.matchAll(/<<(?:"([^"]*)"|([\d,]+))>>/g)].map(([, text, bytes]) =>
    text ?? new TextDecoder().decode(new Uint8Array(bytes!.split(',').map(Number))))
}
