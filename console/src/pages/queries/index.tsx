// Queries.
import { Page } from '../../ui'

export default function Queries () {
  return <Page title='Queries'><p>Not made yet.</p></Page>
}
