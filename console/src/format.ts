// How numbers, sizes and times are said. The exact value belongs into a title beside each.

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB']

/** bytes says a size in the unit people use: 1.2 GB. */
export function bytes (n: number | undefined): string {
  if (n === undefined || !Number.isFinite(n)) return '–'
  let unit = 0
  while (Math.abs(n) >= 1000 && unit < UNITS.length - 1) {
    n /= 1000
    unit++
  }
  return unit === 0 ? `${n} bytes` : `${n >= 100 ? Math.round(n) : n.toFixed(1)} ${UNITS[unit]}`
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const some = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 })

/** count says a number with separators: 12,345. */
export function count (n: number | undefined): string {
  return n === undefined || !Number.isFinite(n) ? '–' : whole.format(n)
}

/** rate says a number for each second with three digits at the most. */
export function rate (n: number | undefined): string {
  return n === undefined || !Number.isFinite(n) ? '–' : Math.abs(n) >= 100 ? whole.format(n) : some.format(n)
}

/** duration says milliseconds in the unit people use: 12 ms, 3.4 s, 5 min, 2 h, 3 days. */
export function duration (ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return '–'
  const at = Math.abs(ms)
  if (at < 1) return `${some.format(ms)} ms`
  if (at < 1000) return `${whole.format(ms)} ms`
  if (at < 60_000) return `${some.format(ms / 1000)} s`
  if (at < 3_600_000) return `${whole.format(ms / 60_000)} min`
  if (at < 86_400_000) return `${some.format(ms / 3_600_000)} h`
  const days = Math.round(ms / 86_400_000)
  return `${whole.format(days)} ${days === 1 ? 'day' : 'days'}`
}

/** ago says how long before now a time was: 3 min ago; or how long after: in 3 min. */
export function ago (time: number, now = Date.now()): string {
  const past = now - time
  if (Math.abs(past) < 1000) return 'now'
  if (Math.abs(past) < 60_000) return past > 0 ? `${Math.round(past / 1000)} s ago` : `in ${Math.round(-past / 1000)} s`
  return past > 0 ? `${duration(past)} ago` : `in ${duration(-past)}`
}

/** moment says a time in the reader's zone. */
export function moment (time: number): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** plural says a number with its noun: 1 document, 2 documents. */
export function plural (n: number, noun: string, many = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : many}`
}
