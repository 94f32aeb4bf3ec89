// Databases: the list of them, and the documents of one.
import { usePlace } from '../../router'
import { List } from './list'
import { Documents } from './documents'

export default function Databases () {
  const [, db] = usePlace().parts
  return db === undefined ? <List /> : <Documents key={db} db={db} />
}
