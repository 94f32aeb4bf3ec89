// The versions of a document in conflict beside each other: keep one, or merge them member by member.
import { useState } from 'preact/hooks'
import { docPath, get } from '../../api'
import { plural } from '../../format'
import { Button, confirm, Empty, Failure, Notice, toast } from '../../ui'
import { useLoad } from '../../use'
import type { Shown } from './inspector'
import { membersIn, refused, shownValue, solve, type Member } from './merge'
import { short } from './revisions'
import { readDoc, writeAll } from './store'
import type { Doc } from './types'

const MOST = 12 // versions beside each other

export function Conflicts (props: Shown) {
  const { db, id, doc } = props
  const revs = doc._conflicts as string[] | undefined ?? []
  const { value: versions, error, again } = useLoad(async signal => {
    if (revs.length === 0) return []
    const asked = [doc._rev as string, ...revs].slice(0, MOST)
    const opened = await get<{ ok?: Doc }[]>(docPath(db, id), { open_revs: asked }, { signal, quiet: true })
    return asked.map(rev => opened.find(one => one.ok?._rev === rev)?.ok).filter(version => version !== undefined)
  }, [doc])
  if (revs.length === 0) {
    return (
      <Empty title='No conflict'>
        When a document is changed on two servers that replicate, both versions stay, and all servers show the same one of
        them. They stand here beside each other then.
      </Empty>
    )
  }
  if (error) return <Failure error={error} doing='Reading the versions' again={again} />
  return versions && versions.length > 1 ? <Versions key={revs.join()} {...props} versions={versions} rest={revs.length + 1 - versions.length} /> : null
}

function Versions ({ db, id, versions, rest, again, onStored }: Shown & { versions: Doc[], rest: number }) {
  const [choice, setChoice] = useState<ReadonlyMap<string, number>>(new Map())
  const [busy, setBusy] = useState(false)
  const members = membersIn(versions)
  const differ = members.filter(member => !member.same)
  const same = members.length - differ.length
  const write = async (picked: ReadonlyMap<string, number>, title: string, action: string) => {
    const docs = solve(versions, picked)
    const ends = docs.filter(one => one._deleted).map(one => short(one._rev as string)).join(', ')
    if (!await confirm(title, <p>{plural(versions.length - 1, 'version')} {versions.length === 2 ? 'goes' : 'go'}: {ends}.</p>, action)) return
    setBusy(true)
    try {
      const error = refused(await writeAll(db, docs))
      if (error) throw error
      const now = await readDoc(db, id)
      onStored([{ id, rev: now._rev as string, doc: now }])
      toast('The conflict is solved.')
    } catch (error) {
      toast(error as Error)
    }
    setBusy(false)
    again()
  }
  const keep = (n: number) => {
    const all = new Map(members.map(member => [member.name, n]))
    void write(all.set('_attachments', n), `Keep ${short(versions[n]!._rev as string)}?`, 'Keep this one')
  }
  return (
    <>
      {rest > 0 && <Notice kind='hint'>{plural(rest, 'further version')} follow when these are solved.</Notice>}
      <div class='versions-box' tabIndex={0} role='group' aria-label='Versions in conflict'>
        <table class='versions'>
          <thead>
            <tr>
              <th scope='col'>Member</th>
              {versions.map((version, n) => (
                <th key={n} scope='col'>
                  <code title={version._rev as string}>{short(version._rev as string)}</code>{n === 0 && ' the winner'}
                  <Button busy={busy} label={`Keep this one: ${short(version._rev as string)}`} onClick={() => keep(n)}>Keep this one</Button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differ.map(member => (
              <Choice key={member.name} member={member} chosen={choice.get(member.name) ?? 0} onChoose={n => setChoice(new Map(choice).set(member.name, n))} />
            ))}
          </tbody>
        </table>
      </div>
      <p class='muted small'>{same === 0 ? 'No member is the same in all.' : `${plural(same, 'member')} ${same === 1 ? 'is' : 'are'} the same in all.`}</p>
      <div class='row'>
        <Button kind='primary' busy={busy} onClick={() => { void write(choice, 'Save the merge?', 'Save the merge') }}>Save the merge</Button>
        <span class='muted small'>of the values that are chosen above</span>
      </div>
    </>
  )
}

function Choice ({ member, chosen, onChoose }: { member: Member, chosen: number, onChoose: (n: number) => void }) {
  return (
    <tr>
      <th scope='row'>{member.name}</th>
      {member.values.map((value, n) => (
        <td key={n} class={n === chosen ? 'taken' : undefined}>
          <label>
            <input type='radio' name={`take-${member.name}`} checked={n === chosen} onChange={() => onChoose(n)} />
            {value === undefined ? <span class='muted'>not there</span> : <pre>{shownValue(value)}</pre>}
          </label>
        </td>
      ))}
    </tr>
  )
}
