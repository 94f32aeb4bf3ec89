// Backups.
import { Page } from '../../ui'

export default function Backups () {
  return <Page title='Backups'><p>Not made yet.</p></Page>
}
