// Dead letters: what a function has published and nobody took. They are sent again, or thrown away.
import { useEffect, useState } from 'preact/hooks'
import { ago, bytes, count, plural } from '../../format'
import { Button, Code, confirm, Empty, Failure, Notice, Table, toast } from '../../ui'
import { useLoad, usePoll } from '../../use'
import { words, type DeadLetter, type FunctionApi } from './api'

/** Letters lists the first hundred and more as one scrolls, replays all, some or one, and deletes. */
export function Letters ({ api }: { api: FunctionApi }) {
  const first = usePoll(() => api.deadLetters(undefined), 3000, [api])
  const [rest, setRest] = useState<{ letters: DeadLetter[], next: string | undefined }>()
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const [chosen, choose] = useState<string>()
  // What came after the first part is asked for anew when the list has changed.
  useEffect(() => setRest(undefined), [first.value?.dead_letters])
  if (first.error && !first.value) return <Failure error={first.error} doing='Reading the dead letters' again={first.again} />
  if (!first.value) return null
  const all = first.value
  const rows = [...all.letters, ...rest?.letters ?? []]
  const next = rest ? rest.next : all.next
  const more = () => {
    api.deadLetters(next).then(part => setRest({ letters: [...rest?.letters ?? [], ...part.letters], next: part.next }), toast)
  }
  const act = async (what: () => Promise<{ count: number }>, done: string) => {
    try {
      toast(`${plural((await what()).count, 'message')} ${done}.`)
    } catch (error) {
      toast(new Error(words(error as Error)))
    }
    setMarked(new Set())
    setRest(undefined)
    first.again()
  }
  const drop = async () => {
    const what = `${plural(all.dead_letters, 'message')} of ${api.name} will never be delivered.`
    if (await confirm('Delete all dead letters?', what, 'Delete')) await act(() => api.dropLetters(), 'deleted')
  }
  return (
    <>
      <div class='row'>
        <Button
          kind='primary' disabled={rows.length === 0}
          onClick={() => act(() => api.replay(marked.size > 0 ? [...marked] : undefined), 'will be sent again')}
        >
          {marked.size > 0 ? `Send ${marked.size} again` : 'Send all again'}
        </Button>
        <Button kind='danger' disabled={rows.length === 0} onClick={drop}>Delete all</Button>
        <span class='muted small'>{count(all.outbox)} wait to be delivered, {bytes(all.outbox_bytes)} with the dead ones</span>
      </div>
      <Table
        label='Dead letters' rows={rows} rowKey={letter => letter.id} chosen={chosen} onChoose={letter => choose(letter.id)}
        total={all.dead_letters} marked={marked} onMark={setMarked} more={next ? more : undefined}
        columns={[
          { key: 'to', title: 'To', cell: letter => letter.destination },
          { key: 'failed', title: 'Given up', width: '110px', cell: letter => <span title={letter.failed}>{ago(Date.parse(letter.failed))}</span> },
          { key: 'attempts', title: 'Attempts', width: '84px', numeric: true, cell: letter => count(letter.attempts) },
          { key: 'status', title: 'Status', width: '72px', numeric: true, wide: true, cell: letter => letter.status || '–' },
          { key: 'error', title: 'Why', width: '3fr', wide: true, cell: letter => <span title={letter.error}>{letter.error}</span> }
        ]}
        empty={<Empty title='No dead letters'>What the function publishes and nobody takes stands here, to be sent again.</Empty>}
      />
      {chosen && <Letter key={chosen} api={api} id={chosen} again={first.again} close={() => choose(undefined)} />}
    </>
  )
}

function Letter ({ api, id, again, close }: { api: FunctionApi, id: string, again: () => void, close: () => void }) {
  const letter = useLoad(() => api.deadLetter(id), [id])
  if (letter.error) return <Notice kind='hint'>This letter is no longer here.</Notice>
  if (!letter.value) return null
  const act = async (what: Promise<unknown>, done: string) => {
    await what.then(() => toast(done), (error: Error) => toast(new Error(words(error))))
    close()
    again()
  }
  return (
    <section class='stack' aria-label='Letter'>
      <Notice kind='failed'>{letter.value.error}</Notice>
      <Code label='Message'>{JSON.stringify(letter.value.value, null, 2)}</Code>
      <div class='row'>
        <Button onClick={() => act(api.replay([id]), 'The message will be sent again.')}>Send again</Button>
        <Button kind='danger' onClick={() => act(api.dropLetter(id), 'The message was deleted.')}>Delete</Button>
      </div>
    </section>
  )
}
