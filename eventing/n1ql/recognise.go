package n1ql

import "strings"

// queryWords begin statements of N1QL.
var queryWords = map[string]bool{"SELECT": true, "INSERT": true, "UPSERT": true, "UPDATE": true, "DELETE": true}

func init() {
	for word := range unsupportedStatements {
		queryWords[word] = true
	}
}

// maxLookahead is how many tokens after a keyword are looked at for the second keyword of a
// statement.
const maxLookahead = 2000

// isStatement reports whether a statement begins with the token at the scanner: a keyword with
// something after it that is no JavaScript. The keywords are usual names there: update(),
// select.options, {update: 1}.
func (s *scanner) isStatement(tok jsToken) bool {
	if s.afterPoint() {
		return false
	}
	l := lexer{src: s.code, pos: tok.start}
	first := l.next()
	if first.kind != tokenWord || !queryWords[first.upper] || s.named() {
		return false
	}
	rest := l
	next := l.next()
	if end, _ := skipJSBlanks(s.code, first.end); next.glued || strings.HasPrefix(s.code[end:], "--") {
		return false // a decrement would be a comment of N1QL
	}
	newline := strings.ContainsAny(s.code[first.end:next.start], "\r\n")
	name := next.kind == tokenWord && !operatorWords[next.text] || next.kind == tokenQuoted ||
		next.kind == tokenParam
	switch first.upper {
	case "INSERT", "UPSERT", "MERGE":
		return next.is("INTO") && startsName(l.next())
	case "DELETE":
		if !next.is("FROM") && (name || next.is("*")) { // DELETE x FROM b is a mistake, but none of JavaScript
			next = l.next()
		}
		return next.is("FROM") && startsName(l.next())
	case "UPDATE":
		if next.kind == tokenWord && name && !newline {
			return true
		}
		return name && rest.reaches("SET", "UNSET")
	case "SELECT":
		plain := next.kind == tokenWord && name || next.kind == tokenNumber || next.kind == tokenString ||
			next.kind == tokenParam && s.code[next.start] == '$'
		if plain && !newline {
			return true
		}
		if next.is("(") && rest.isMethod() {
			return false
		}
		start := plain || name || next.kind == tokenSign && selectSigns[next.text]
		return start && rest.reaches("FROM", "")
	case "WITH":
		return next.kind == tokenWord && l.next().upper == "AS"
	}
	return next.kind == tokenWord && name && !newline || first.upper == "FROM" && next.kind == tokenQuoted && !newline
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
func startsName(t token) bool {
	return !t.glued && (t.kind == tokenWord && !operatorWords[t.text] || t.kind == tokenQuoted || t.kind == tokenParam)
}

// reaches reports whether one of two keywords stands before the end of the statement, with a name
// after it. Two names in a row are no JavaScript.
func (l lexer) reaches(word, other string) bool {
	depth := 0
	for range maxLookahead {
		t := l.next()
		switch {
		case t.kind == tokenEnd, t.kind == tokenBad:
			return false
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			if depth--; depth < 0 {
				return false
			}
		case t.is(";") && depth == 0:
			return false
		case t.kind == tokenWord && depth == 0 && (t.upper == word || t.upper == other):
			next := l
			if n := next.next(); startsName(n) {
				return true
			}
		}
	}
	return false
}

// isMethod reports whether parentheses and then a brace follow, as in the definition of a method.
func (l lexer) isMethod() bool {
	depth := 0
	for range maxLookahead {
		t := l.next()
		switch {
		case t.kind == tokenEnd, t.kind == tokenBad:
			return false
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				return l.next().text == "{"
			}
		}
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
	first := lexer{src: s.code, pos: tok.start}
	t := first.next()
	return tok.kind == jsWord && t.upper == "SELECT" && inner.isStatement(tok)
}
