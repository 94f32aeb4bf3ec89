// Designs & indexes.
import { Page } from '../../ui'

export default function Designs () {
  return <Page title='Designs & indexes'><p>Not made yet.</p></Page>
}
