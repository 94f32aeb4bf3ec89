// Overview.
import { Page } from '../../ui'

export default function Overview () {
  return <Page title='Overview'><p>Not made yet.</p></Page>
}
