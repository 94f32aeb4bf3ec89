package script

import (
	"strings"

	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// isStatement reports whether a statement begins with the token at the scanner: a keyword with
// something after it that is no JavaScript. The keywords are usual names there: update(),
// select.options, {update: 1}.
func (s *scanner) isStatement(tok jsToken) bool {
	if s.afterPoint() {
		return false
	}
	l := lex.Lexer{Src: s.code, Pos: tok.start}
	first := l.Next()
	if first.Kind != lex.Word || !n1ql.BeginsStatement(first.Upper) || s.named() {
		return false
	}
	rest := l
	next := l.Next()
	if end, _ := lex.SkipBlanks(s.code, first.End); next.Glued || strings.HasPrefix(s.code[end:], "--") {
		return false // a decrement would be a comment of N1QL
	}
	newline := strings.ContainsAny(s.code[first.End:next.Start], "\r\n")
	name := next.Kind == lex.Word && !operatorWords[next.Text] || next.Kind == lex.Quoted ||
		next.Kind == lex.Param
	switch first.Upper {
	case "INSERT", "UPSERT", "MERGE":
		return next.Is("INTO") && startsName(l.Next())
	case "DELETE":
		if !next.Is("FROM") && (name || next.Is("*")) { // DELETE x FROM b is a mistake, but none of JavaScript
			next = l.Next()
		}
		return next.Is("FROM") && startsName(l.Next())
	case "UPDATE":
		if next.Kind == lex.Word && name && !newline {
			return true
		}
		return name && reaches(rest, "SET", "UNSET")
	case "SELECT":
		plain := next.Kind == lex.Word && name || next.Kind == lex.Number || next.Kind == lex.String ||
			next.Kind == lex.Param && s.code[next.Start] == '$'
		if plain && !newline {
			return true
		}
		if next.Is("(") && isMethod(rest) {
			return false
		}
		start := plain || name || next.Kind == lex.Sign && selectSigns[next.Text]
		return start && reaches(rest, "FROM", "")
	case "WITH":
		return next.Kind == lex.Word && l.Next().Upper == "AS"
	}
	return next.Kind == lex.Word && name && !newline || first.Upper == "FROM" && next.Kind == lex.Quoted && !newline
}

// named reports whether the last token makes a name of what follows: function update.
func (s *scanner) named() bool {
	if s.prev.kind != jsWord || s.member {
		return false
	}
	switch s.prev.text {
	case "new", "break", "continue", "import":
		return true
	}
	return declares[s.prev.text]
}

// operatorWords are the operators of JavaScript that are words: they may follow a variable.
var operatorWords = map[string]bool{"in": true, "instanceof": true, "of": true, "as": true}

// selectSigns may begin an expression after SELECT; most of them are operators or brackets after a
// variable, too.
var selectSigns = map[string]bool{"*": true, "(": true, "[": true, "{": true, "-": true}

// startsName reports whether a token after FROM or INTO is a keyspace, and not what goes on with a
// variable of that name.
func startsName(t lex.Token) bool {
	return !t.Glued && (t.Kind == lex.Word && !operatorWords[t.Text] || t.Kind == lex.Quoted || t.Kind == lex.Param)
}

// reaches reports whether one of two keywords stands before the end of the statement, with a name
// after it. Two names in a row are no JavaScript.
func reaches(l lex.Lexer, word, other string) bool {
	for t, after := range l.Outside() {
		switch {
		case t.Is(";"):
			return false
		case t.Kind == lex.Word && (t.Upper == word || t.Upper == other) && startsName(after.Next()):
			return true
		}
	}
	return false
}

// isMethod reports whether parentheses and then a brace follow, as in the definition of a method.
func isMethod(l lex.Lexer) bool {
	inside := false
	for t := range l.Outside() {
		if inside {
			return t.Is("{")
		}
		inside = true
	}
	return false
}

// place says where a statement would stand.
type place uint8

const (
	placeNone      place = iota // in the middle of an expression
	placeStatement              // it is a whole statement of JavaScript
	placeValue                  // it is assigned or returned
	placeLoop                   // it is what a loop goes over: for (var row of SELECT …)
)

// place is where the next token stands.
func (s *scanner) place() place {
	switch {
	case s.beginsStatement():
		return placeStatement
	case s.prev.kind == jsPunct && s.prev.text == "=",
		s.prev.kind == jsWord && s.prev.text == "return" && !s.member:
		return placeValue
	case s.prev.kind == jsWord && s.prev.text == "of" && !s.member && s.inner().kind == bracketHeader:
		return placeLoop
	}
	return placeNone
}

// parenthesised reports whether the token is a parenthesis around a SELECT.
func (s *scanner) parenthesised(tok jsToken) bool {
	if tok.kind != jsPunct || tok.text != "(" || s.place() == placeNone {
		return false
	}
	inner := *s
	for tok.text == "(" {
		// The scanner is a copy but its brackets are not: they are not touched.
		inner.pos, inner.prev, inner.member = tok.end, tok, false
		var ok bool
		if tok, ok = inner.peek(); !ok {
			return false
		}
	}
	first := lex.Lexer{Src: s.code, Pos: tok.start}
	t := first.Next()
	return tok.kind == jsWord && t.Upper == "SELECT" && inner.isStatement(tok)
}
