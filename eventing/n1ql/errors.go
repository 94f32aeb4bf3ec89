package n1ql

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a statement, or code around it, is wrong.
type SyntaxError struct {
	Message string
	Index   int    // of the first byte that is wrong, from 0
	Line    int    // from 1
	Column  int    // from 1, in characters
	Token   string // what stands there; "" at the end
	Source  string // the whole line
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Excerpt is the line with what is wrong underlined, for people.
func (e *SyntaxError) Excerpt() string {
	var b strings.Builder
	b.WriteString(e.Source)
	b.WriteByte('\n')
	column := 1
	for _, r := range e.Source {
		if column == e.Column {
			break
		}
		if r != '\t' { // tabs stay, so that what follows is below its character
			r = ' '
		}
		b.WriteRune(r)
		column++
	}
	width := utf8.RuneCountInString(e.Token)
	if i := strings.IndexAny(e.Token, "\r\n"); i >= 0 {
		width = utf8.RuneCountInString(e.Token[:i])
	}
	b.WriteString(strings.Repeat("^", max(width, 1)))
	return b.String()
}

// ErrorKind says why a statement could not be run.
type ErrorKind uint8

// The kinds of an Error.
const (
	KindInvalid   ErrorKind = iota // a parameter or a value that does not fit the statement
	KindKeyspace                   // there is no such keyspace
	KindForbidden                  // the keyspace may not be used like that
	KindDuplicate                  // INSERT of a document that exists
	KindConflict                   // the document was changed meanwhile, again and again
	KindMissing                    // the document is not there any more
	KindLimit                      // the statement needs more memory than it may have
	KindUnsorted                   // Find has no index in this order; the statement is then sorted in memory
)

// Error is why a statement could not be run. Keyspaces return it too; other errors of theirs are
// passed on as they are.
type Error struct {
	Kind     ErrorKind
	Message  string
	Keyspace string // "" if none is concerned
	ID       string // of the document, "" if none is concerned
}

func (e *Error) Error() string { return e.Message }

func invalidf(format string, args ...any) error {
	return &Error{Kind: KindInvalid, Message: fmt.Sprintf(format, args...)}
}

func limitf(format string, args ...any) error {
	return &Error{Kind: KindLimit, Message: fmt.Sprintf(format, args...)}
}

// lines finds lines and columns in a text.
type lines struct {
	text   string
	starts []int // where each line begins
}

func newLines(text string) *lines {
	l := &lines{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// position is the line and the column of a byte, from 1.
func (l *lines) position(index int) (line, column int) {
	line = sort.SearchInts(l.starts, index+1)
	return line, utf8.RuneCountInString(l.text[l.starts[line-1]:index]) + 1
}

// line is a line without its end.
func (l *lines) line(n int) string {
	end := len(l.text)
	if n < len(l.starts) {
		end = l.starts[n]
	}
	return strings.TrimRight(l.text[l.starts[n-1]:end], "\r\n")
}

// locate makes a SyntaxError of a fault.
func (l *lines) locate(f *fault) *SyntaxError {
	e := &SyntaxError{Message: f.message, Index: f.start, Token: l.text[f.start:f.end]}
	e.Line, e.Column = l.position(f.start)
	e.Source = l.line(e.Line)
	return e
}

// fault is what is wrong with a part of a text.
type fault struct {
	message    string
	start, end int
}
