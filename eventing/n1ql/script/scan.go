package script

import (
	"strings"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// jsKind is the kind of a token of JavaScript.
type jsKind uint8

const (
	jsNone     jsKind = iota // before the first token
	jsWord                   // identifiers and keywords
	jsNumber                 // and other literals that end an expression: strings, regular expressions, templates
	jsTemplate               // the part of a template before an expression in it, which begins one
	jsPunct
)

// jsToken is a token of JavaScript.
type jsToken struct {
	kind       jsKind
	text       string
	start, end int
}

// bracketKind says what an open bracket means for what stands in it and after it.
type bracketKind uint8

const (
	bracketGroup    bracketKind = iota // parentheses of an expression, a call, parameters; square brackets
	bracketHeader                      // parentheses after if, for, while and with: a statement follows
	bracketBlock                       // braces around statements or members of a class
	bracketObject                      // braces around members of an object
	bracketTemplate                    // an expression in a template
)

// bracket is an open bracket.
type bracket struct {
	kind      bracketKind
	questions int  // question marks in it that wait for their colon
	inCase    bool // after case or default, before the colon
}

// scanner goes over JavaScript by tokens. It does not parse: what it knows is what tells a regular
// expression from a division, and the beginning of a statement from the middle of an expression.
type scanner struct {
	code    string
	pos     int
	prev    jsToken     // the last token
	newline bool        // there is a line break after it
	open    []bracket   // the first one is the whole code
	closed  bracketKind // of the last closing bracket
	label   bool        // the last token is the colon of a label or a case
	member  bool        // the last token is a name after a point
}

func newScanner(code string) *scanner {
	return &scanner{code: code, open: []bracket{{kind: bracketBlock}}}
}

// inner is the innermost open bracket.
func (s *scanner) inner() *bracket { return &s.open[len(s.open)-1] }

// close goes out of the innermost bracket.
func (s *scanner) close() {
	s.closed = s.inner().kind
	if len(s.open) > 1 {
		s.open = s.open[:len(s.open)-1]
	}
}

// peek returns the next token without taking it; ok is false at the end. Comments and blanks before
// it are passed over.
func (s *scanner) peek() (tok jsToken, ok bool) {
	if s.pos < 2 && strings.HasPrefix(s.code[s.pos:], "#!") && s.prev.kind == jsNone {
		s.pos = lex.LineEnd(s.code, s.pos)
	}
	end, newline := lex.SkipBlanks(s.code, s.pos)
	s.pos, s.newline = end, s.newline || newline
	if s.pos >= len(s.code) {
		return jsToken{}, false
	}
	tok = jsToken{start: s.pos}
	c := s.code[s.pos]
	switch {
	case c == '}' && s.inner().kind == bracketTemplate:
		tok.kind, tok.end = s.template(s.pos + 1)
	case c == '`':
		tok.kind, tok.end = s.template(s.pos + 1)
	case c == '"' || c == '\'':
		tok.kind, tok.end = jsNumber, stringEnd(s.code, s.pos)
	case c >= '0' && c <= '9' || c == '.' && lex.IsDigit(s.code, s.pos+1):
		tok.kind, tok.end = jsNumber, numberEnd(s.code, s.pos)
	case lex.WordEnd(s.code, s.pos) > s.pos:
		tok.kind, tok.end = jsWord, lex.WordEnd(s.code, s.pos)
	case c == '/' && !s.afterExpression():
		tok.kind, tok.end = jsNumber, regexpEnd(s.code, s.pos)
	default:
		tok.kind, tok.end = jsPunct, s.pos+punctSize(s.code[s.pos:])
	}
	tok.text = s.code[tok.start:tok.end]
	return tok, true
}

// take goes over a token that peek returned.
func (s *scanner) take(tok jsToken) {
	label := false
	switch tok.kind {
	case jsTemplate, jsNumber:
		s.takeTemplate(tok)
	case jsPunct:
		label = s.takePunct(tok)
	case jsWord:
		if in := s.inner(); in.kind == bracketBlock && !s.afterPoint() {
			in.inCase = in.inCase || tok.text == "case" || tok.text == "default"
		}
	}
	s.member = tok.kind == jsWord && s.afterPoint()
	s.prev, s.pos, s.newline, s.label = tok, tok.end, false, label
}

// takeTemplate keeps account of the expressions in templates.
func (s *scanner) takeTemplate(tok jsToken) {
	if tok.text[0] == '}' {
		s.close()
	}
	if tok.kind == jsTemplate {
		s.open = append(s.open, bracket{kind: bracketTemplate})
	}
}

// takePunct keeps account of brackets and of what colons mean. It reports whether the token is the colon of a label or
// of a case.
func (s *scanner) takePunct(tok jsToken) (label bool) {
	switch tok.text {
	case "(", "[":
		kind := bracketGroup
		if tok.text == "(" && s.prev.kind == jsWord && headers[s.prev.text] && !s.member {
			kind = bracketHeader
		}
		s.open = append(s.open, bracket{kind: kind})
	case "{":
		kind := bracketBlock
		if s.beginsObject() {
			kind = bracketObject
		}
		s.open = append(s.open, bracket{kind: kind})
	case ")", "]", "}":
		s.close()
	case "?":
		s.inner().questions++
	case ":":
		in := s.inner()
		switch {
		case in.inCase && in.questions == 0:
			in.inCase = false
			return true
		case in.questions > 0:
			in.questions--
		default:
			return in.kind == bracketBlock
		}
	}
	return false
}

var headers = map[string]bool{"if": true, "for": true, "while": true, "with": true}

// operands are keywords that an expression follows.
var operands = map[string]bool{
	"await": true, "case": true, "delete": true, "do": true, "else": true, "extends": true, "in": true,
	"instanceof": true, "new": true, "of": true, "return": true, "throw": true, "typeof": true, "void": true,
	"yield": true,
}

// afterPoint reports whether the last token is the point before a member's name.
func (s *scanner) afterPoint() bool {
	return s.prev.kind == jsPunct && (s.prev.text == "." || s.prev.text == "?." || s.prev.text == "#")
}

// afterExpression reports whether the last token ends an expression, so that a slash is a division.
func (s *scanner) afterExpression() bool {
	switch s.prev.kind {
	case jsWord:
		return s.member || !operands[s.prev.text]
	case jsNumber:
		return true
	case jsPunct:
		switch s.prev.text {
		case ")":
			return s.closed != bracketHeader
		case "}":
			return s.closed != bracketBlock
		case "]", "++", "--":
			return true
		}
	}
	return false
}

// beginsObject reports whether a brace after the last token begins an object and not a block.
func (s *scanner) beginsObject() bool {
	switch s.prev.kind {
	case jsTemplate:
		return true
	case jsWord:
		return !s.member && operands[s.prev.text] && s.prev.text != "do" && s.prev.text != "else" &&
			!(s.prev.text == "return" && s.newline)
	case jsPunct:
		switch s.prev.text {
		case ";", "{", "}", ")", "=>":
			return false
		case ":":
			return !s.label
		}
		return true
	}
	return false
}

// beginsStatement reports whether a token after the last one could begin a statement of JavaScript,
// which is where a statement of N1QL without an assignment can stand. Without a parser it goes by
// the last token, and by a line break where JavaScript would insert a semicolon; if in doubt it
// says no, and the code is left as it is.
func (s *scanner) beginsStatement() bool {
	if s.prev.kind == jsNone || s.label {
		return true
	}
	if s.inner().kind != bracketBlock {
		return false
	}
	switch s.prev.kind {
	case jsNumber:
		return s.newline
	case jsWord:
		word := s.prev.text
		switch {
		case s.member:
			return s.newline
		case word == "else" || word == "do":
			return true
		case word == "return":
			return s.newline
		}
		return s.newline && !operands[word] && !declares[word]
	case jsPunct:
		switch s.prev.text {
		case ";", "{":
			return true
		case "}":
			return s.closed == bracketBlock || s.newline
		case ")":
			return s.closed == bracketHeader || s.newline
		case "]", "++", "--":
			return s.newline
		}
	}
	return false
}

// declares are keywords that a name follows.
var declares = map[string]bool{"var": true, "let": true, "const": true, "function": true, "class": true}

// template reads the rest of a template up to its end or to an expression in it.
func (s *scanner) template(i int) (jsKind, int) {
	for ; i < len(s.code); i++ {
		switch {
		case s.code[i] == '\\':
			i++
		case s.code[i] == '`':
			return jsNumber, i + 1
		case strings.HasPrefix(s.code[i:], "${"):
			return jsTemplate, i + 2
		}
	}
	return jsNumber, len(s.code)
}
