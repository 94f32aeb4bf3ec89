// Users and rights.
import { Page } from '../../ui'

export default function Users () {
  return <Page title='Users and rights'><p>Not made yet.</p></Page>
}
