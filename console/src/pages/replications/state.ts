// Replications as the scheduler tells them, and how they are said.
import { duration } from '../../format'
import type { Tone } from '../../ui'

export interface Info {
  docs_read?: number
  docs_written?: number
  doc_write_failures?: number
  revisions_checked?: number
  missing_revisions_found?: number
  changes_pending?: number | null
  checkpointed_source_seq?: string
  source_seq?: string
  through_seq?: string
  error?: string
}

export interface Replication {
  /** The document of _replicator; null of one that POST /_replicate started. */
  doc_id: string | null
  database: string | null
  id: string | null
  source: string
  target: string
  state: string
  info: Info | null
  error_count: number
  node?: string
  start_time: string | null
  last_updated?: string
  history: { timestamp: string, type: string, reason?: string }[]
}

/** key is what a replication is known by in lists and places. */
export const key = (one: Replication): string => one.doc_id ?? one.id ?? `${one.source} ${one.target}`

/** tone is what a state of the scheduler means. */
export function tone (state: string): Tone {
  switch (state) {
    case 'running': return 'running'
    case 'completed': return 'done'
    case 'failed': case 'crashing': case 'error': return 'failed'
    case 'paused': return 'deleted'
    default: return 'waiting'
  }
}

const REASONS: [RegExp, string][] = [
  [/db_not_found/, 'The database does not exist, or its name is wrong. A missing target can be created.'],
  [/unauthorized|401/, 'The other server wants a name and a password, or they are wrong.'],
  [/forbidden|403/, 'The user of the replication may not do this: reading the source, or writing the target.'],
  [/econnrefused|connection refused/i, 'Nothing listens at that address: the server is down, or the port is wrong.'],
  [/nxdomain|no such host/i, 'The name of the other server is not known here.'],
  [/timeout|timed out/i, 'The other server did not answer in time.'],
  [/certificate|tls/i, 'The certificate of the other server is not accepted.'],
  [/denied|not allowed/i, 'The settings replicator/allowed_networks and denied_networks forbid this address.']
]

/** inWords says what an error of a replication means; undefined for one that speaks for itself. */
export function inWords (error: string): string | undefined {
  return REASONS.find(([pattern]) => pattern.test(error))?.[1]
}

/** error is the newest error of a replication, if it has one now. */
export function error (one: Replication): string | undefined {
  if (one.info?.error) return one.info.error
  if (tone(one.state) !== 'failed') return undefined
  return one.history.find(entry => entry.reason)?.reason
}

/** Sample is what a replication had done at a time, in milliseconds. */
export interface Sample {
  at: number
  written: number
}

/** speed is documents a second between two samples; undefined if the replication began anew between them. */
export function speed (before: Sample | undefined, now: Sample): number | undefined {
  if (!before || now.at <= before.at || now.written < before.written) return undefined
  return (now.written - before.written) * 1000 / (now.at - before.at)
}

/** lag says how far a replication is behind: changes to come, and how long they take at this speed. */
export function lag (info: Info | null, perSecond: number | undefined): string {
  // A source that does not count what is to come still says where its feed ends.
  const ended = info?.source_seq !== undefined && info.source_seq === info.through_seq
  const pending = info?.changes_pending ?? (ended ? 0 : undefined)
  if (pending === undefined) return '–'
  if (pending === 0) return 'in step'
  const changes = pending === 1 ? '1 change' : `${pending.toLocaleString('en-US')} changes`
  return perSecond ? `${changes}, ${duration(pending / perSecond * 1000)}` : changes
}

/** withoutSecrets is an address with no password in it. */
export function withoutSecrets (address: string): string {
  return address.replace(/^(https?:\/\/)[^/@]*@/, '$1')
}

/** shortAddress is a database's name where it is on this server, else the address without what goes without saying. */
export function shortAddress (address: string, origin: string): string {
  const clean = withoutSecrets(address).replace(/\/$/, '')
  return clean.startsWith(`${origin}/`) ? decodeURIComponent(clean.slice(origin.length + 1)) : clean
}
