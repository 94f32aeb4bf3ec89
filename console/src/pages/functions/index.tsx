// Event functions.
import { Page } from '../../ui'

export default function Functions () {
  return <Page title='Event functions'><p>Not made yet.</p></Page>
}
