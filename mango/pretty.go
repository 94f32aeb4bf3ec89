package mango

import (
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// lineLength is where ~p breaks lines.
const lineLength = 80

// printed is a term on its way to text: a leaf, or a list or tuple of parts.
type printed struct {
	leaf  string
	bytes []string // a binary shown as numbers, which may be broken between them
	open  string   // "{" or "[", "" for a leaf
	close string
	parts []printed
	width int // characters on one line
}

// prettyTerm prints a JSON value as Erlang's ~p prints the term jiffy makes of it, after prefix on the same line:
// printable strings as text, lines broken (io_lib_pretty:print). Values nested deeper than maxDepth are cut.
func prettyTerm(prefix string, v ejson.Value) string {
	p := printedTerm(v, 0)
	column := len(prefix) - strings.LastIndexByte(prefix, '\n')
	var b strings.Builder
	b.WriteString(prefix)
	p.write(&b, column, 0)
	return b.String()
}

func leafTerm(text string) printed {
	return printed{leaf: text, width: len(text)}
}

func printedTerm(v ejson.Value, depth int) printed {
	if depth > maxDepth {
		return leafTerm("...")
	}
	switch v.Kind() {
	case ejson.String:
		return printedBinary(v.Text())
	case ejson.Array:
		if text, ok := charList(v); ok {
			return leafTerm(quoted(text))
		}
		list := printed{open: "[", close: "]"}
		for e := range v.Elements() {
			list.add(printedTerm(e, depth+1))
		}
		return list.closed()
	case ejson.Object:
		members := printed{open: "[", close: "]"}
		for name, value := range v.Members() {
			pair := printed{open: "{", close: "}"}
			pair.add(printedBinary(name.Text()))
			pair.add(printedTerm(value, depth+1))
			members.add(pair.closed())
		}
		object := printed{open: "{", close: "}"}
		object.add(members.closed())
		return object.closed()
	}
	return leafTerm(term(v))
}

func (p *printed) add(part printed) {
	p.parts = append(p.parts, part)
	p.width += part.width + 1
}

// closed counts the brackets; a list without parts is a leaf.
func (p *printed) closed() printed {
	if len(p.parts) == 0 {
		return leafTerm(p.open + p.close)
	}
	p.width++ // two brackets, and a comma less than parts
	return *p
}

// isLeaf tells that p has no parts; a binary shown as numbers counts as one that has (io_lib_pretty: ATM).
func (p *printed) isLeaf() bool { return p.open == "" && p.bytes == nil }

// write prints p from a column on, the first being 1; closing is how many brackets follow it directly.
func (p *printed) write(b *strings.Builder, column, closing int) {
	switch {
	case p.width < lineLength-column-closing:
		p.writeFlat(b)
	case p.bytes != nil:
		p.writeBytes(b, column, closing)
	case p.isLeaf():
		b.WriteString(p.leaf)
	default:
		b.WriteString(p.open)
		p.writeParts(b, column+1, closing)
		b.WriteString(p.close)
	}
}

// writeParts puts leaves side by side while there is room; what has parts begins a line of its own and ends it.
func (p *printed) writeParts(b *strings.Builder, column, closing int) {
	at := column
	for i := range p.parts {
		part := &p.parts[i]
		more := 0
		if i == len(p.parts)-1 {
			more = closing + 1
		}
		switch {
		case i == 0:
		case part.isLeaf() && part.width+1+max(1, more) < lineLength-at:
			b.WriteByte(',')
			part.writeFlat(b)
			at += part.width + 1
			continue
		default:
			b.WriteString(",\n" + strings.Repeat(" ", column-1))
			at = column
		}
		if part.isLeaf() && part.width < lineLength-column-more {
			part.writeFlat(b)
			at += part.width
			continue
		}
		part.write(b, column, more)
		at = lineLength
	}
}

func (p *printed) writeFlat(b *strings.Builder) {
	b.WriteString(p.leaf)
	b.WriteString(p.open)
	for i := range p.parts {
		if i > 0 {
			b.WriteByte(',')
		}
		p.parts[i].writeFlat(b)
	}
	b.WriteString(p.close)
}

// writeBytes breaks a long binary between its numbers.
func (p *printed) writeBytes(b *strings.Builder, column, closing int) {
	room := max(8, lineLength-(column+2)-closing)
	left := room
	b.WriteString("<<")
	for i, number := range p.bytes {
		if i < len(p.bytes)-1 {
			number += ","
		}
		if left < len(number) {
			b.WriteString("\n" + strings.Repeat(" ", column+1))
			left = room
		}
		b.WriteString(number)
		left -= len(number)
	}
	b.WriteString(">>")
}

func printedBinary(text string) printed {
	if text == "" {
		return leafTerm("<<>>")
	}
	if isPrintable(text) {
		return leafTerm("<<" + quoted(text) + ">>")
	}
	flat := string(appendBinary(nil, text))
	p := leafTerm(flat)
	p.bytes = strings.Split(flat[2:len(flat)-2], ",")
	return p
}

// charList gives the text of an array that Erlang takes for a string: integers that are printable characters.
func charList(v ejson.Value) (string, bool) {
	text := make([]byte, 0, v.Len())
	for e := range v.Elements() {
		n, ok := e.Int()
		if !ok || n < 0 || n > 255 {
			return "", false
		}
		text = append(text, byte(n))
	}
	return string(text), len(text) > 0 && isPrintable(string(text))
}

// letters are the control characters that count as printable, as they are escaped.
var letters = map[byte]string{
	'\n': `\n`,
	'\r': `\r`,
	'\t': `\t`,
	'\v': `\v`,
	'\b': `\b`,
	'\f': `\f`,
	0x1b: `\e`,
	'"':  `\"`,
	'\\': `\\`,
}

// isPrintable reports whether all bytes are printable characters of Latin-1 (io_lib:printable_latin1_list/1).
func isPrintable(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c < 0xa0 && letters[c] == "" {
			return false
		}
	}
	return true
}

func quoted(text string) string {
	b := []byte{'"'}
	for i := range len(text) {
		if escaped := letters[text[i]]; escaped != "" {
			b = append(b, escaped...)
		} else {
			b = append(b, text[i])
		}
	}
	return string(append(b, '"'))
}
