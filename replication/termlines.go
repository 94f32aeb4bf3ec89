package replication

import "strings"

// The width of a line of ~p, and the column that the elements of a tuple may begin at behind its tag; otherwise they
// are on the next line, by so many blanks further right.
const (
	termWidth   = 80
	termHalf    = termWidth / 2
	shortIndent = 4
	// brokenBytes is the longest term that is broken into lines: in longer ones a peer may have sent thousands of
	// brackets, each of which begins a line further right.
	brokenBytes = 8 << 10
)

// breakTerm breaks a printed term into lines as Erlang's ~p does (io_lib_pretty:print).
func breakTerm(line string) string {
	if len(line) < termWidth-1 || len(line) > brokenBytes {
		return line
	}
	p := termLines{src: line}
	t := p.parse()
	for _, p.indent = range [...]int{0, shortIndent, 1} {
		p.out, p.tooFar = p.out[:0], false
		p.print(t, 1, 0, 0)
		if !p.tooFar {
			break
		}
	}
	return string(p.out)
}

// printedTerm is a term on one line: a tuple or list of others, or what is not broken.
type printedTerm struct {
	text  string
	items []printedTerm
}

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
}

// parse reads the term at p.at.
func (p *termLines) parse() printedTerm {
	start := p.at
	var t printedTerm
	if open := p.src[start]; open == '{' || open == '[' {
		for p.at++; p.at < len(p.src) && p.src[p.at] != open+2; {
			if p.src[p.at] == ',' {
				p.at++
				continue
			}
			t.items = append(t.items, p.parse())
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

// print appends a term that begins in a column; further lines begin with ind blanks. So many brackets are closed
// after it on its last line.
func (p *termLines) print(t printedTerm, column, ind, closing int) {
	if len(t.items) == 0 || len(t.text) < termWidth-column-closing {
		p.out = append(p.out, t.text...)
		return
	}
	p.out = append(p.out, t.text[0])
	if !t.tagged() {
		p.elements(t.items, column+1, ind+1, closing)
	} else {
		tag := t.items[0].text
		p.out = append(p.out, tag...)
		if behind := len(tag) + len("{,"); p.indent > 0 && behind > p.indent {
			p.tooFar = p.tooFar || column+p.indent > termHalf
			p.more(t.items[1:], column+p.indent, column+behind, ind+p.indent, closing)
		} else {
			p.tooFar = p.tooFar || column+behind >= termHalf
			p.out = append(p.out, ',')
			p.elements(t.items[1:], column+behind, ind+behind, closing)
		}
	}
	p.out = append(p.out, t.text[0]+2)
}

// elements appends elements that stand in a column.
func (p *termLines) elements(items []printedTerm, column, ind, closing int) {
	end := p.element(items, column, ind, closing)
	p.more(items[1:], column, end, ind, closing)
}

// element appends the first of some elements and returns the column after it: what was a tuple or list ends the line.
func (p *termLines) element(items []printedTerm, column, ind, closing int) int {
	t := items[0]
	if len(items) == 1 {
		closing++
	} else {
		closing = 0
	}
	p.print(t, column, ind, closing)
	if len(t.items) == 0 && len(t.text) < termWidth-column-closing {
		return column + len(t.text)
	}
	return termWidth
}

// more appends elements after others that end in the column at: what cannot be broken fills the line.
func (p *termLines) more(items []printedTerm, column, at, ind, closing int) {
	for ; len(items) > 0; items = items[1:] {
		p.out = append(p.out, ',')
		after := len(",") + 1
		if len(items) == 1 {
			after += closing
		}
		if t := items[0]; len(t.items) == 0 && len(t.text)+after < termWidth-at {
			p.out = append(p.out, t.text...)
			at += len(",") + len(t.text)
			continue
		}
		p.out = append(p.out, '\n')
		p.out = append(p.out, strings.Repeat(" ", ind)...)
		at = p.element(items, column, ind, closing)
	}
}
