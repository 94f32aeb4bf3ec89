// The documents of a database.
import { href } from '../../router'
import { Page } from '../../ui'

export function Documents ({ db }: { db: string }) {
  return <Page title={db} path={<a href={href(['databases'])}>Databases</a>}><p>Not made yet.</p></Page>
}
