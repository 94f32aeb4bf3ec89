// CodeMirror as this console uses it. It lives in a shadow root: there its style sheets are objects, which the page's
// policy allows, where in the page itself they would be elements, which it does not.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { javascript } from '@codemirror/lang-javascript'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { linter, lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { MergeView } from '@codemirror/merge'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, RangeSet, StateEffect, StateField, type Extension } from '@codemirror/state'
import {
  Decoration, drawSelection, EditorView, gutter, GutterMarker, highlightActiveLine, highlightActiveLineGutter, keymap,
  lineNumbers, placeholder, type DecorationSet
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Completion, EditorProps } from './editor'

export type Language = 'json' | 'javascript' | 'text'

/** What the editor's component does with a mounted editor. */
export interface Driver {
  update: (props: EditorProps) => void
  /** The text at at is typed on. */
  focus: (at: number) => void
  destroy: () => void
}

interface Setup {
  value: string
  label: string
  language: Language
  breakpoints: boolean
  events: { change: (text: string) => void, save: () => void, run: () => void, breakpoint: (line: number) => void }
}

const style = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-name)' },
  { tag: [tags.string, tags.regexp], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.comment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--code-function)' },
  { tag: tags.invalid, color: 'var(--failed)' }
])

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', backgroundColor: 'var(--field)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-content, .cm-gutters': { fontFamily: 'var(--mono)' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--field)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection) !important'
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--selection)' },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--border)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--hover)', border: 'none', color: 'var(--muted)' },
  '.cm-breakpoints': { width: '16px', cursor: 'pointer' },
  '.cm-current': { backgroundColor: 'var(--current)' },
  '.cm-placeholder': { color: 'var(--muted)' }
})

class Dot extends GutterMarker {
  override toDOM () {
    const dot = document.createElement('span')
    dot.textContent = '●'
    dot.style.color = 'var(--failed)'
    dot.title = 'breakpoint'
    return dot
  }
}

class Heat extends GutterMarker {
  constructor (readonly share: number, readonly title: string) {
    super()
  }

  override eq (other: Heat) {
    return this.share === other.share && this.title === other.title
  }

  override toDOM () {
    const bar = document.createElement('span')
    bar.title = this.title
    bar.textContent = '\u00a0'
    Object.assign(bar.style, { display: 'block', width: '6px', background: 'var(--failed)', opacity: String(this.share) })
    return bar
  }
}

const TYPED = 100 // texts that may be on their way to the component

const dot = new Dot()

// field is state that the component sets as a whole: markers of a gutter, decorations of lines.
function field<T> (first: T): { state: StateField<T>, set: (value: T) => StateEffect<T> } {
  const effect = StateEffect.define<T>()
  const state = StateField.define<T>({
    create: () => first,
    update: (value, transaction) => transaction.effects.reduce((all, one) => one.is(effect) ? one.value : all, value)
  })
  return { state, set: value => effect.of(value) }
}

const points = field<RangeSet<GutterMarker>>(RangeSet.empty)
const heat = field<RangeSet<GutterMarker>>(RangeSet.empty)
const current = field<DecorationSet>(Decoration.none)

// source offers the words that the page knows; members and operators begin after a quotation mark.
function source (words: Completion[]) {
  return (context: CompletionContext) => {
    const word = context.matchBefore(/"?[$\w.]*/)
    if (!word || (word.from === word.to && !context.explicit)) return null
    const quoted = word.text.startsWith('"')
    return {
      from: quoted ? word.from + 1 : word.from,
      validFor: /^[$\w.]*$/,
      options: words.map(({ label, detail, kind }) => ({
        label, detail: detail ?? '', type: kind === 'function' ? 'function' : kind === 'operator' ? 'keyword' : 'property'
      }))
    }
  }
}

// replacing writes what is typed over a selection by itself. The browser would copy the look of the text that goes into a
// style attribute, which the page's policy forbids and its console tells.
const replacing = EditorView.domEventHandlers({
  beforeinput (event, view) {
    const { main } = view.state.selection
    const text = event.data
    if (event.inputType !== 'insertText' || !text || main.empty || view.composing || view.state.readOnly) return false
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true })
    const handled = view.state.facet(EditorView.inputHandler).some(handler => handler(view, main.from, main.to, text, insert))
    if (!handled) view.dispatch(insert())
    event.preventDefault()
    return true
  }
})

/** mount puts an editor into a shadow root of the host. */
export function mount (host: HTMLElement, setup: Setup): Driver {
  const { events, language } = setup
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  root.replaceChildren()
  const readOnly = new Compartment()
  const words = new Compartment()
  const run = (f: () => void) => () => { f(); return true }
  let before: Partial<EditorProps> = {}
  // The page's marks stand beside what the linter finds, which puts its own in place of all each time it runs.
  const marks = (length: number): Diagnostic[] => {
    const within = (n: number) => Math.max(0, Math.min(length, n))
    return (before.marks ?? []).map(mark => ({ ...mark, from: within(mark.from), to: within(mark.to) }))
  }
  const languages: Record<Language, Extension> = {
    json: [json(), linter(view => view.state.doc.length === 0 ? [] : [...jsonParseLinter()(view), ...marks(view.state.doc.length)])],
    javascript: javascript(),
    text: []
  }
  // A click beside a line, or F9 in it.
  const toggles = {
    mousedown (view: EditorView, line: { from: number }) {
      events.breakpoint(view.state.doc.lineAt(line.from).number)
      return true
    }
  }
  const gutters = [
    setup.breakpoints && keymap.of([{
      key: 'F9',
      run (view) {
        events.breakpoint(view.state.doc.lineAt(view.state.selection.main.head).number)
        return true
      }
    }]),
    setup.breakpoints && gutter({
      class: 'cm-breakpoints',
      markers: view => view.state.field(points.state),
      initialSpacer: () => dot,
      domEventHandlers: toggles
    }),
    gutter({ class: 'cm-heat', markers: view => view.state.field(heat.state) })
  ].filter(part => part !== false)
  // The newest value that the component gave, and what was typed since. The component shows what is typed later than it is
  // typed: a value of these is no change, or quick typing would be undone.
  let known = [setup.value]
  let taking = false
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: setup.value,
      extensions: [
        keymap.of([
          { key: 'Mod-s', run: run(events.save), preventDefault: true },
          { key: 'Mod-Enter', run: run(events.run), preventDefault: true }
        ]),
        points.state, heat.state, current.state, EditorView.decorations.from(current.state),
        gutters, lineNumbers(setup.breakpoints ? { domEventHandlers: toggles } : {}), foldGutter(), lintGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(),
        closeBrackets(), replacing, highlightActiveLine(), highlightActiveLineGutter(), highlightSelectionMatches(),
        syntaxHighlighting(style), look, EditorView.lineWrapping, EditorState.tabSize.of(2), placeholder(setup.label),
        keymap.of([
          ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap,
          ...lintKeymap, indentWithTab
        ]),
        languages[language],
        readOnly.of([]), words.of([]),
        EditorView.contentAttributes.of({ 'aria-label': setup.label, tabindex: '0' }),
        EditorView.updateListener.of(update => {
          if (!update.docChanged || taking) return
          const text = update.state.doc.toString()
          known = [...known.slice(-TYPED), text]
          events.change(text)
        })
      ]
    })
  })
  return {
    update (props) {
      const effects: StateEffect<unknown>[] = []
      if (props.readOnly !== before.readOnly) {
        const still = props.readOnly === true
        effects.push(readOnly.reconfigure([EditorState.readOnly.of(still), EditorView.editable.of(true)]))
      }
      if (props.complete !== before.complete) {
        effects.push(words.reconfigure(props.complete ? autocompletion({ override: [source(props.complete)] }) : autocompletion()))
      }
      const at = known.indexOf(props.value)
      known = at < 0 ? [props.value] : known.slice(at)
      if (at < 0 && props.value !== view.state.doc.toString()) {
        taking = true
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: props.value } })
        taking = false
      }
      const { doc } = view.state
      const start = (line: number) => doc.line(Math.max(1, Math.min(doc.lines, line))).from
      if (props.breakpoints !== before.breakpoints) {
        const sorted = [...props.breakpoints ?? []].filter(line => line >= 1 && line <= doc.lines).sort((a, b) => a - b)
        effects.push(points.set(RangeSet.of(sorted.map(line => dot.range(start(line))))))
      }
      if (props.heat !== before.heat) {
        const lines = [...props.heat ?? []].filter(([line]) => line >= 1 && line <= doc.lines).sort((a, b) => a[0] - b[0])
        effects.push(heat.set(RangeSet.of(lines.map(([line, { share, title }]) => new Heat(share, title).range(start(line))))))
      }
      if (props.current !== before.current) {
        const line = props.current
        effects.push(current.set(line === undefined ? Decoration.none : Decoration.set(Decoration.line({ class: 'cm-current' }).range(start(line)))))
        if (line !== undefined) effects.push(EditorView.scrollIntoView(start(line), { y: 'center' }))
      }
      if (effects.length > 0) view.dispatch({ effects })
      const marked = props.marks !== before.marks
      before = props
      if (marked) view.dispatch(setDiagnostics(view.state, marks(doc.length)))
    },
    focus (at) {
      view.focus()
      view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) } })
    },
    destroy () {
      view.destroy()
    }
  }
}

/** compare shows two texts of JSON beside each other in a shadow root of the host. The function that it gives ends it. */
export function compare (host: HTMLElement, before: string, after: string, names: [string, string]): () => void {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  root.replaceChildren()
  const side = (doc: string, label: string) => ({
    doc,
    extensions: [
      json(), syntaxHighlighting(style), look, EditorView.lineWrapping, EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ 'aria-label': label })
    ]
  })
  const view = new MergeView({
    root, parent: root, a: side(before, names[0]), b: side(after, names[1]), collapseUnchanged: { margin: 2, minSize: 6 }
  })
  return () => view.destroy()
}
