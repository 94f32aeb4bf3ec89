package pcre

import (
	"errors"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/settee-db/settee/compat/patterns"
)

// Sets of characters that PCRE defines in another way than RE2, for use inside brackets, with
// Erlang's tables of Latin-1.
const (
	wordSet     = `0-9A-Z_a-z\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{ff}`
	notWordSet  = "\\x00-/:-@\\[-\\^`\\{-\\x{a9}\\x{ab}-\\x{b4}\\x{b6}-\\x{b9}\\x{bb}-\\x{bf}\\x{d7}\\x{f7}"
	spaceSet    = `\t-\r `
	notSpaceSet = `\x00-\x08\x0e-\x1f!-\x{ff}`
	blankSet    = `\t \x{a0}`
	notBlankSet = `\x00-\x08\n-\x1f!-\x{9f}\x{a1}-\x{ff}`
)

// escapes are the escapes that mean such a set.
var escapes = map[byte]string{
	'w': wordSet,
	'W': notWordSet,
	's': spaceSet,
	'S': notSpaceSet,
	'h': blankSet,
	'H': notBlankSet,
}

// outsideEscapes are other ones that RE2 lacks; inside brackets they are no sets.
var outsideEscapes = map[byte]string{'Z': `(?-m:$)`, 'N': `[^\n]`, 'R': `(?:\r\n|[\n-\r\x{85}])`}

// Pattern is a compiled pattern: a linear one, or a backtracking one where that cannot be. It is safe for concurrent
// use.
type Pattern struct {
	linear *patterns.Pattern
	back   *backtracker
}

// Compile compiles a pattern, whose program comes out of the budget of its selector. What is too large for package
// regexp, but short, may still be a pattern for the backtracking engine, which does not write out counts. Errors are
// those of the engines, or patterns.ErrTooLarge.
func Compile(text string, budget *patterns.Budget) (p Pattern, err error) {
	if len(text) > patterns.MaxText {
		return p, patterns.ErrTooLarge
	}
	wide := string(latin1(nil, []byte(text)))
	tree, err := patterns.Parse(translatePattern(wide))
	if err == nil {
		if tree, err = dollars(tree, true); err == nil {
			p.linear, err = budget.Of(tree)
		}
	}
	if err != nil {
		if err = budget.Take(backtrackerSize * int64(len(wide))); err == nil {
			p.back, err = newBacktracker(wide)
		}
	}
	return p, err
}

// Size is about the most memory that a pattern takes while it is compiled, in bytes.
func Size(text string) int64 {
	if len(text) > patterns.MaxText {
		return 0 // it is refused
	}
	instructions := int64(len(text))
	if strings.Contains(text, "{") {
		tree, err := patterns.Parse(translatePattern(string(latin1(nil, []byte(text)))))
		if err == nil {
			instructions = max(instructions, patterns.Instructions(tree))
		}
	}
	return min(instructions, patterns.MaxInstructions) * patterns.InstructionSize
}

// translatePattern replaces escapes that RE2 does not know or understands in another way.
func translatePattern(pattern string) string {
	var b strings.Builder
	bracket := -1 // where the contents of the brackets begin that are open
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && strings.HasPrefix(pattern[i:], `\Q`):
			end := strings.Index(pattern[i:], `\E`)
			if end < 0 {
				end = len(pattern) - i
			}
			b.WriteString(pattern[i : i+end])
			i += end - 1
			continue
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(translateEscape(pattern[i], bracket >= 0))
			continue
		case bracket >= 0 && strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i:], ":]"); end > 0 {
				b.WriteString(pattern[i : i+end+1])
				i += end + 1
				c = ']'
			}
		case bracket < 0 && strings.HasPrefix(pattern[i:], branchReset):
			b.WriteString("(?:")
			i += len(branchReset) - 1
			continue
		case c == '[' && bracket < 0:
			bracket = i + 1
			if strings.HasPrefix(pattern[bracket:], "^") {
				bracket++
			}
		case c == ']' && i > bracket:
			bracket = -1
		}
		b.WriteByte(c)
	}
	return b.String()
}

// branchReset begins a group whose alternatives number their groups alike. Where nothing refers to these it is any
// group.
const branchReset = "(?|"

// translateEscape is the escape \c of PCRE in RE2's syntax. Sets such as \w are written out, because
// those of PCRE and RE2 differ; between brackets they bring no brackets of their own.
func translateEscape(c byte, inBrackets bool) string {
	set, isSet := escapes[c]
	switch {
	case isSet && inBrackets:
		return set
	case isSet:
		return "[" + set + "]"
	case c == 'e':
		return `\x1b`
	case !inBrackets && outsideEscapes[c] != "":
		return outsideEscapes[c]
	case c >= utf8.RuneSelf:
		return string([]byte{c}) // the first byte of a character; the rest of it follows
	}
	return `\` + string(rune(c))
}

// errLooksAhead is the error of a `$` that has to look at the line feed at the end and leave it to what is behind it.
var errLooksAhead = errors.New("mango: a $ before other parts of a pattern")

// dollars lets `$` hold before a line feed at the end, too: it takes that in, which shows where the pattern goes on
// behind it (last is false): errLooksAhead.
func dollars(re *syntax.Regexp, last bool) (*syntax.Regexp, error) {
	if re.Op == syntax.OpEndText && re.Flags&syntax.WasDollar != 0 {
		if !last {
			return nil, errLooksAhead
		}
		end := *re
		end.Flags &^= syntax.WasDollar
		feed := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\n'}}
		return &syntax.Regexp{
			Op:  syntax.OpConcat,
			Sub: []*syntax.Regexp{{Op: syntax.OpQuest, Sub: []*syntax.Regexp{feed}}, &end},
		}, nil
	}
	again := re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat
	for i, sub := range re.Sub {
		behind := re.Op == syntax.OpConcat && i < len(re.Sub)-1
		var err error
		if re.Sub[i], err = dollars(sub, last && !again && !behind); err != nil {
			return nil, err
		}
	}
	return re, nil
}

// Backtracks reports whether the pattern needs the backtracking engine. Its matches depend on time, so what an index
// holds must not depend on it.
func (p *Pattern) Backtracks() bool { return p.back != nil }

// Match reports whether a text in UTF-8 matches. The error says that the backtracking engine has used up its time.
func (p *Pattern) Match(text []byte) (bool, error) {
	var wide [256]byte
	if p.linear == nil {
		runes := make([]rune, len(text))
		for i, c := range text {
			runes[i] = rune(c)
		}
		return p.back.match(runes)
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return p.linear.Match(latin1(wide[:0], text)), nil
		}
	}
	return p.linear.Match(text), nil
}

// latin1 appends the bytes as characters.
func latin1(dst, text []byte) []byte {
	for _, c := range text {
		dst = utf8.AppendRune(dst, rune(c))
	}
	return dst
}
