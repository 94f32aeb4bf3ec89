package lex

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

// Lines finds lines and columns in a text.
type Lines struct {
	text   string
	starts []int // where each line begins
}

// NewLines finds the lines of a text, which end with LF, CR or both.
func NewLines(text string) *Lines {
	l := &Lines{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// Count is how many lines there are.
func (l *Lines) Count() int { return len(l.starts) }

// Position is the line and the column of a byte, from 1.
func (l *Lines) Position(index int) (line, column int) {
	line = sort.SearchInts(l.starts, index+1)
	return line, utf8.RuneCountInString(l.text[l.starts[line-1]:index]) + 1
}

// line is a line without its end.
func (l *Lines) line(n int) string {
	end := len(l.text)
	if n < len(l.starts) {
		end = l.starts[n]
	}
	return strings.TrimRight(l.text[l.starts[n-1]:end], "\r\n")
}

// Locate makes a SyntaxError of a fault.
func (l *Lines) Locate(f *Fault) *SyntaxError {
	e := &SyntaxError{Message: f.Message, Index: f.Start, Token: l.text[f.Start:f.End]}
	e.Line, e.Column = l.Position(f.Start)
	e.Source = l.line(e.Line)
	return e
}

// Fault is what is wrong with a part of a text.
type Fault struct {
	Message    string
	Start, End int // its bytes
}
