// The code of a function: edited while it is not deployed, with what its lines did beside it.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { count } from '../../format'
import { hold } from '../../router'
import { Button, confirm, Editor, Notice, toast, type Mark } from '../../ui'
import { useDraft, usePoll } from '../../use'
import { compileError, words, type Definition, type FunctionApi, type LineStats } from './api'

interface CodeProps {
  api: FunctionApi
  stored: Definition
  /** Whether it cannot be edited, and whether it has done anything that could be shown. */
  deployed: boolean
  running: boolean
  /** A line to go to. */
  line: number | undefined
  saved: () => void
}

/** Code saves with Ctrl+S. An error of the compiler stands at its place. */
export function CodePanel ({ api, stored, deployed, running, line, saved }: CodeProps) {
  const draft = useDraft(useMemo(() => ({ text: stored.appcode }), [stored]))
  const { text } = draft.now
  const [marks, setMarks] = useState<Mark[]>([])
  const [error, setError] = useState<string>()
  const unsaved = 'text' in draft.unsaved && text !== stored.appcode
  useEffect(() => {
    if (!unsaved) return
    hold(() => confirm('Leave the code?', 'It is changed and not saved.', 'Leave'))
    return () => hold(undefined)
  }, [unsaved])
  const insight = usePoll(async () => running ? await api.insight().catch(() => undefined) : undefined, 2000, [api, running])
  const heat = useMemo(() => insight.value?.script === text ? heatOf(insight.value.lines) : undefined, [insight.value, text])
  const save = async () => {
    if (deployed || !unsaved) return
    try {
      const { warning_info: warnings } = await api.saveCode(text)
      setMarks([])
      setError(undefined)
      draft.saved({ text })
      saved()
      toast(['Code saved.', ...warnings ?? []].join(' '))
    } catch (e) {
      const at = compileError(e)
      setMarks(at ? [{ ...placeOf(text, at.line_number, at.column_number), severity: 'error', message: at.description }] : [])
      setError(at ? `The code does not compile: ${words(e as Error)}` : words(e as Error))
    }
  }
  return (
    <>
      <div class='row'>
        <Button kind='primary' disabled={deployed || !unsaved} onClick={save}>Save code</Button>
        <span class='muted small'>{deployed ? 'Pause or undeploy the function to change its code.' : unsaved ? 'Changed and not saved.' : 'Ctrl+S saves.'}</span>
      </div>
      {error && <Notice kind='failed'>{error}</Notice>}
      <Editor label='Code' language='javascript' value={text} onChange={text => draft.type({ text })} onSave={save} readOnly={deployed} marks={marks} heat={heat} current={line} />
      <p class='muted small'>{heat ? 'Bars beside the lines: how much of the time each took; hover for calls, failures and the last log.' : ''}</p>
    </>
  )
}

// placeOf is a line and a column, both from 1, as characters of a text.
function placeOf (text: string, line: number, column: number): { from: number, to: number } {
  const lines = text.split('\n')
  const start = lines.slice(0, line - 1).reduce((n, one) => n + one.length + 1, 0)
  const length = lines[line - 1]?.length ?? 0
  const from = start + Math.min(Math.max(0, column - 1), Math.max(0, length - 1))
  return { from, to: start + length }
}

function heatOf (lines: Record<string, LineStats>): Map<number, { share: number, title: string }> {
  const most = Math.max(...Object.values(lines).map(line => line.call_time), 1e-9)
  return new Map(Object.entries(lines).map(([line, did]) => {
    const words = [
      `${count(did.call_count)} calls, ${(did.call_time * 1000).toFixed(1)} ms`,
      did.error_count > 0 && `${count(did.error_count)} failed: ${did.error_msg ?? ''}`, did.last_log && `logged: ${did.last_log}`
    ]
    return [Number(line), { share: 0.15 + 0.85 * did.call_time / most, title: words.filter(Boolean).join('\n') }]
  }))
}
