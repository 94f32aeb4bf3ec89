// Reads replications: documents of _replicator, and what POST /_replicate started.
import { get, type Options } from '../../api'
import type { Replication } from './state'

interface Job extends Omit<Replication, 'state' | 'error_count'> {
  id: string
}

/** load reads all replications: those of documents, with the history of their jobs, and those of requests. */
export async function load (options: Options): Promise<Replication[]> {
  const quiet = { ...options, quiet: true }
  const [{ docs }, { jobs }] = await Promise.all([
    get<{ docs: Omit<Replication, 'history'>[] }>('/_scheduler/docs', { limit: 1000 }, quiet),
    get<{ jobs: Job[] }>('/_scheduler/jobs', { limit: 1000 }, quiet)
  ])
  const histories = new Map(jobs.map(job => [job.id, job.history]))
  const requests = jobs.filter(job => job.doc_id === null)
  return [
    ...docs.map(doc => ({ ...doc, history: histories.get(doc.id ?? '') ?? [] })),
    ...requests.map(job => ({ ...job, state: failing(job) ? 'crashing' : 'running', error_count: 0 }))
  ]
}

const failing = (job: Job): boolean => job.history[0]?.type === 'crashed'
