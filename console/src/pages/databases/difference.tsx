// Two texts beside each other, with what differs.
import { useEffect, useRef } from 'preact/hooks'

interface DifferenceProps {
  before: string
  after: string
  /** What the two are called. */
  names: [string, string]
}

/** Difference shows two texts of JSON beside each other, in CodeMirror, which loads when it is first needed. */
export function Difference ({ before, after, names }: DifferenceProps) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let end: (() => void) | undefined
    let gone = false
    import('../../ui/codemirror').then(({ compare }) => {
      if (!gone && host.current) end = compare(host.current, before, after, names)
    }, () => {})
    return () => {
      gone = true
      end?.()
    }
  }, [before, after, names[0], names[1]])
  return (
    <div class='difference'>
      <div class='difference-names small muted'><span>{names[0]}</span><span>{names[1]}</span></div>
      <div ref={host} class='difference-host' />
    </div>
  )
}
