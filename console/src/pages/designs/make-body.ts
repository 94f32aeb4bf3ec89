// What the form of a new index asks of the server.

export interface IndexForm {
  kind: 'json' | 'auto' | 'text' | 'nouveau'
  /** Names with commas between; each may have a direction or a type behind it. */
  fields: string
  ddoc: string
  name: string
  /** A selector as JSON. */
  filter: string
  analyzer: string
}

const TYPES = ['string', 'number', 'boolean']

/** indexBody is the body of POST _index, or of a nouveau index its definition. Throws Error with a sentence. */
export function indexBody (form: IndexForm): Record<string, unknown> {
  const fields = form.fields.split(',').map(one => one.trim().split(/\s+/)).filter(([name]) => name !== '')
  const named = { ...(form.ddoc && { ddoc: form.ddoc }), ...(form.name && { name: form.name }) }
  const filter = form.filter.trim() === '' ? {} : { partial_filter_selector: selector(form.filter) }
  const default_analyzer = form.analyzer.trim() || 'standard'
  switch (form.kind) {
    case 'json':
      if (fields.length === 0) throw new Error('Name at least one field.')
      return { index: { fields: fields.map(([name, order]) => order === 'desc' ? { [name!]: 'desc' } : name), ...filter }, type: 'json', ...named }
    case 'auto':
      return { index: fields.length > 0 ? { exclude: fields.map(([name]) => name) } : {}, type: 'auto', ...named }
    case 'text':
      return {
        index: {
          ...(fields.length > 0 && { fields: fields.map(([name, type = 'string']) => ({ name, type: typed(name!, type) })) }),
          default_field: { enabled: true, analyzer: default_analyzer }, ...filter
        },
        type: 'text', ...named
      }
    case 'nouveau':
      if (fields.length === 0) throw new Error('Name at least one field.')
      return { default_analyzer, index: `function (doc) {\n${fields.map(([name]) => line(name!)).join('\n')}\n}` }
  }
}

function selector (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The selector is not JSON: ${(error as Error).message}`)
  }
}

function typed (name: string, type: string): string {
  if (!TYPES.includes(type)) throw new Error(`The type of ${name} is string, number or boolean, not ${type}.`)
  return type
}

// line indexes the text of a field, which may be a member of a member.
function line (name: string): string {
  const parts = name.split('.')
  const member = (n: number) => 'doc' + parts.slice(0, n).map(part => `[${JSON.stringify(part)}]`).join('')
  const there = [...parts.slice(1).map((_, i) => member(i + 1)), `typeof ${member(parts.length)} === 'string'`].join(' && ')
  return `  if (${there}) index('text', ${JSON.stringify(name)}, ${member(parts.length)}, {store: true})`
}
