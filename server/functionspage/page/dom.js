// Elements made of data: text becomes text nodes and attributes, never markup.

const SVG = 'http://www.w3.org/2000/svg'

// Makes an element. Attributes: functions are listeners (onclick), true and false set and leave out, members of the
// element that follow what is typed (value, checked) are set as members. Children: nodes, texts, lists of both.
export function h (tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children)
}

// Makes an element of SVG.
export function svg (tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children)
}

function fill (element, attributes, children) {
  element.append(...flat(children))
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (name === 'value' || name === 'checked') element[name] = value
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value)
  }
  return element
}

function flat (children) {
  return children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false)
}

// Puts children in the place of what an element has.
export function replace (element, ...children) {
  element.replaceChildren(...flat(children))
  return element
}

let fields = 0

// A label with its control below it.
export function field (text, control, hint) {
  control.id ||= `field-${++fields}`
  const note = hint && h('small', { id: `${control.id}-hint` }, hint)
  if (note) control.setAttribute('aria-describedby', note.id)
  return h('div', { class: 'field' }, h('label', { for: control.id }, text), control, note)
}

export function select (values, chosen, attributes = {}) {
  const all = values.includes(chosen) ? values : [...values, chosen]
  return h('select', { ...attributes, value: chosen }, all.map(value => h('option', { value }, value)))
}

export function number (n) {
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)}M`
  if (n >= 1e4) return `${(n / 1e3).toFixed(1)}k`
  return n >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(n >= 10 ? 1 : 2)
}
