package compat

import "strings"

// The width of a line of ~p, and the column that the elements of a tuple may begin at behind its tag; otherwise they
// are on the next line, by so many blanks further right.
const (
	termWidth   = 80
	termHalf    = termWidth / 2
	shortIndent = 4
	// maxNesting is how deep terms may be that are broken into lines: in others a peer may have sent thousands of
	// brackets, each of which begins a line further right.
	maxNesting = 250
	// maxBroken is how long they may be: each of their elements may be on a line of its own behind eighty blanks.
	maxBroken = 64 << 10
)

// BreakTerm breaks a term, printed on one line, into lines as Erlang's ~p does (io_lib_pretty:print). The term begins
// in a column, the first of which is 1.
func BreakTerm(term string, column int) string {
	if len(term) < termWidth-column || len(term) > maxBroken {
		return term
	}
	p := termLines{src: term}
	t := p.parse(0)
	if p.deep {
		return term
	}
	for _, p.indent = range [...]int{0, shortIndent, 1} {
		p.out, p.tooFar = p.out[:0], false
		p.print(t, column, 0)
		if !p.tooFar {
			break
		}
	}
	return string(p.out)
}

// printedTerm is a term on one line: a tuple or list of others, or what has no elements.
type printedTerm struct {
	text  string
	items []printedTerm
}

// isBytes reports whether t is a binary shown as numbers, between which it may be broken. It counts as one that has
// elements.
func (t *printedTerm) isBytes() bool {
	return len(t.text) >= len("<<0>>") && strings.HasPrefix(t.text, "<<") && isTermDigit(t.text[2]) &&
		strings.HasSuffix(t.text, ">>")
}

func (t *printedTerm) isLeaf() bool { return len(t.items) == 0 && !t.isBytes() }

func isTermDigit(c byte) bool { return '0' <= c && c <= '9' }

func (t *printedTerm) tagged() bool {
	if t.text[0] != '{' || len(t.items) < 2 {
		return false
	}
	first := t.items[0].text[0]
	return first >= 'a' && first <= 'z' || first == '\''
}

// termLines parses and prints a term. The elements of a tuple stand below each other behind its tag, or by indent
// blanks further right than it if that is not 0.
type termLines struct {
	src    string
	at     int
	out    []byte
	indent int
	tooFar bool // elements would begin in the right half of the line
	deep   bool // the term is deeper than maxNesting
}

// parse reads the term at p.at, which is so many levels down.
func (p *termLines) parse(depth int) printedTerm {
	start := p.at
	var t printedTerm
	p.deep = p.deep || depth > maxNesting
	if open := p.src[start]; (open == '{' || open == '[') && !p.deep {
		for p.at++; p.at < len(p.src) && p.src[p.at] != open+2; {
			if p.src[p.at] == ',' {
				p.at++
				continue
			}
			t.items = append(t.items, p.parse(depth+1))
		}
		p.at++
	} else {
		p.skipAtom()
	}
	p.at = min(p.at, len(p.src))
	t.text = p.src[start:p.at]
	return t
}

// skipAtom passes what is neither a tuple nor a list: commas and brackets in quotes and binaries belong to it.
func (p *termLines) skipAtom() {
	for first := p.at; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; {
		case c == '"' || c == '\'':
			p.skipQuoted(c)
		case c == '<' && strings.HasPrefix(p.src[p.at:], "<<"):
			p.skipBinary()
		case p.at > first && (c == ',' || c == '}' || c == ']'):
			return
		}
	}
}

func (p *termLines) skipQuoted(quote byte) {
	for p.at++; p.at < len(p.src) && p.src[p.at] != quote; p.at++ {
		if p.src[p.at] == '\\' {
			p.at++
		}
	}
}

func (p *termLines) skipBinary() {
	for ; p.at < len(p.src) && !strings.HasPrefix(p.src[p.at:], ">>"); p.at++ {
		if p.src[p.at] == '"' {
			p.skipQuoted('"')
		}
	}
	p.at++
}

// print appends a term that begins in a column. So many brackets are closed after it on its last line.
func (p *termLines) print(t printedTerm, column, closing int) {
	switch {
	case len(t.text) < termWidth-column-closing:
		p.out = append(p.out, t.text...)
		return
	case t.isBytes():
		p.bytes(t.text, column, closing)
		return
	case len(t.items) == 0:
		p.out = append(p.out, t.text...)
		return
	}
	p.out = append(p.out, t.text[0])
	if !t.tagged() {
		p.elements(t.items, column+1, closing)
	} else {
		tag := t.items[0].text
		p.out = append(p.out, tag...)
		if behind := len(tag) + len("{,"); p.indent > 0 && behind > p.indent {
			p.tooFar = p.tooFar || column+p.indent > termHalf
			p.more(t.items[1:], column+p.indent, column+behind, closing)
		} else {
			p.tooFar = p.tooFar || column+behind >= termHalf
			p.out = append(p.out, ',')
			p.elements(t.items[1:], column+behind, closing)
		}
	}
	p.out = append(p.out, t.text[0]+2)
}

// elements appends elements that stand in a column.
func (p *termLines) elements(items []printedTerm, column, closing int) {
	at := p.element(items, column, closing)
	p.more(items[1:], column, at, closing)
}

// element appends the first of some elements and returns the column after it: what is no leaf ends the line.
func (p *termLines) element(items []printedTerm, column, closing int) int {
	t := items[0]
	if len(items) == 1 {
		closing++
	} else {
		closing = 0
	}
	p.print(t, column, closing)
	if t.isLeaf() && len(t.text) < termWidth-column-closing {
		return column + len(t.text)
	}
	return termWidth
}

// more appends elements after others that end in the column at: leaves fill the line.
func (p *termLines) more(items []printedTerm, column, at, closing int) {
	for ; len(items) > 0; items = items[1:] {
		p.out = append(p.out, ',')
		after := len(",") + 1
		if len(items) == 1 {
			after += closing
		}
		if t := items[0]; t.isLeaf() && len(t.text)+after < termWidth-at {
			p.out = append(p.out, t.text...)
			at += len(",") + len(t.text)
			continue
		}
		p.line(column)
		at = p.element(items, column, closing)
	}
}

// line begins a new line at a column.
func (p *termLines) line(column int) {
	p.out = append(append(p.out, '\n'), strings.Repeat(" ", column-1)...)
}

// bytes appends a binary, broken between its numbers.
func (p *termLines) bytes(text string, column, closing int) {
	column += len("<<")
	room := max(8, termWidth-column-closing)
	left := room
	p.out = append(p.out, "<<"...)
	for number := range strings.SplitAfterSeq(text[len("<<"):len(text)-len(">>")], ",") {
		if left < len(number) {
			p.line(column)
			left = room
		}
		p.out = append(p.out, number...)
		left -= len(number)
	}
	p.out = append(p.out, ">>"...)
}
