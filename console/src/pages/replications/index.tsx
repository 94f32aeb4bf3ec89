// Replications.
import { Page } from '../../ui'

export default function Replications () {
  return <Page title='Replications'><p>Not made yet.</p></Page>
}
