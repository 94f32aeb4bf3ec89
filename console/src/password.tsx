// The dialog in which people change their own password.
import { useState } from 'preact/hooks'
import { useSession } from './session'
import { Button, Dialog, Field, toast } from './ui'

const FIELDS = [
  { key: 'current', label: 'Current password', complete: 'current-password' },
  { key: 'next', label: 'New password', complete: 'new-password' },
  { key: 'again', label: 'New password again', complete: 'new-password' }
] as const

export function ChangePassword ({ onClose }: { onClose: () => void }) {
  const { user, changePassword } = useSession()
  const [typed, set] = useState({ current: '', next: '', again: '' })
  const [error, setError] = useState<{ at: string, text: string }>()
  const [busy, setBusy] = useState(false)
  const submit = async () => {
    if (typed.next !== typed.again) return setError({ at: 'again', text: 'The two new passwords differ.' })
    setBusy(true)
    try {
      await changePassword(typed.current, typed.next)
      toast('Your password was changed. Other browsers have to sign in again.')
      onClose()
    } catch (e) {
      setError({ at: 'current', text: (e as Error).message })
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={`Change the password of ${user.name}`} onClose={onClose} onSubmit={() => { void submit() }}
      actions={
        <>
          <Button kind='plain' onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy}>Change password</Button>
        </>
      }
    >
      {FIELDS.map(({ key, label, complete }) => (
        <Field key={key} label={label} error={error?.at === key ? error.text : undefined}>
          {(id, about) => (
            <input
              id={id} aria-describedby={about} type='password' required autofocus={key === 'current'} autocomplete={complete} value={typed[key]}
              onInput={event => set({ ...typed, [key]: event.currentTarget.value })}
            />
          )}
        </Field>
      ))}
    </Dialog>
  )
}
