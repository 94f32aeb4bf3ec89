// The settings of a function that have an effect, with what they mean. Those without are not shown: a Go test holds
// this list beside the table of the server (TestConsoleHidesSettingsWithoutEffect).

/** Those that most functions set. */
export const USUAL: Record<string, string> = {
  description: 'For people.',
  dcp_stream_boundary: 'Where a deployed function begins: with all documents, with what changes from then on, or since a time.',
  worker_count: 'Workers on each node.',
  execution_timeout: 'Seconds that one call may take.',
  max_retries: 'How often an event whose handler failed is tried again.',
  dead_letter_database: 'Gets a document for each event that failed in the end.',
  selector: 'A Mango selector; other documents do not reach the handler. null for all.',
  schedules: 'Functions that are called by the clock: [{"every": "15m", "call": "Tick"}], [{"at": "03:00", …}] in UTC.'
}

/** Kept for Couchbase's clients, and without effect here. */
export const WITHOUT_EFFECT = new Set([
  'allow_backtracking_regex', 'allow_sync_documents', 'allow_transaction_mutations', 'app_log_dir', 'app_log_max_files',
  'app_log_max_size', 'bucket_cache_age', 'bucket_cache_size', 'cleanup_timers', 'cpp_worker_thread_count', 'cursor_aware',
  'enable_applog_rotation', 'lcb_inst_capacity', 'lcb_retry_count', 'lcb_timeout', 'log_level', 'n1ql_consistency',
  'n1ql_prepare_all', 'num_timer_partitions', 'tick_duration', 'user_prefix'
])

/** The buttons change these. */
const STATE = new Set(['deployment_status', 'processing_status'])

export const CHOICES: Record<string, string[]> = {
  dcp_stream_boundary: ['everything', 'from_now'],
  language_compatibility: ['7.2.0', '6.6.2', '6.5.0', '6.0.0'],
  isolate: ['worker', 'invocation']
}

/** shown are the settings of a form, the usual ones apart from the others. */
export function shown (settings: Record<string, unknown>): { usual: string[], more: string[] } {
  const names = Object.keys({ selector: null, ...settings }).filter(name => !STATE.has(name) && !WITHOUT_EFFECT.has(name))
  return { usual: Object.keys(USUAL).filter(name => names.includes(name)), more: names.filter(name => !(name in USUAL)).sort() }
}

/** isLines: a list of texts that is edited a line each. */
const isLines = (name: string, value: unknown): value is string[] =>
  name !== 'schedules' && name !== 'http_roles' && Array.isArray(value) && value.every(line => typeof line === 'string')

/** asText is a value as it stands in a field. */
export function asText (name: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (isLines(name, value)) return value.join('\n')
  return JSON.stringify(value ?? null)
}

/** fromText reads a field again: a value of the type that was there. An Error says what is wrong. */
export function fromText (name: string, before: unknown, text: string): unknown {
  if (typeof before === 'string') return text
  if (typeof before === 'number') {
    if (text.trim() === '' || !Number.isFinite(Number(text))) throw new Error('A number is wanted.')
    return Number(text)
  }
  if (isLines(name, before)) return text === '' ? [] : text.split('\n')
  try {
    return JSON.parse(text === '' ? 'null' : text)
  } catch (error) {
    throw new Error(`This is no JSON: ${(error as Error).message}`)
  }
}
