// Settings.
import { Page } from '../../ui'

export default function Settings () {
  return <Page title='Settings'><p>Not made yet.</p></Page>
}
