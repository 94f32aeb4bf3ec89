package patterns

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// MaxText is how many bytes a pattern may have. PCRE, which compiles into 64 KB, takes as many
	// letters.
	MaxText = 32 << 10
	// MaxInstructions is how large the programs of a Budget may be together.
	MaxInstructions = 50_000
	// InstructionSize is about how many bytes an instruction takes while it is compiled. A seventh
	// of them stays, and twice that is taken by each match at a time.
	InstructionSize = 350

	// mostUnicode is how many sets of Unicode a pattern may name: each takes as much as unicodeSet
	// instructions.
	mostUnicode = 250
	unicodeSet  = 40
	// maxSteps is how many instructions times bytes a match may take.
	maxSteps = 1 << 30
)

// ErrTooLarge is the error of a pattern that would take too much memory, in PCRE's words.
var ErrTooLarge = errors.New("regular expression is too large")

// Budget counts the program size of all patterns of one selector, setting or statement together.
// The zero value is an empty one. It is for one goroutine.
type Budget struct{ spent int64 }

// Pattern is a compiled expression. It is safe for concurrent use.
type Pattern struct {
	re   *regexp.Regexp
	size int64
}

// Parse parses an expression of package regexp with the flags of Perl. Errors are ErrTooLarge and
// those of the syntax.
func Parse(text string) (*syntax.Regexp, error) {
	if strings.Count(text, `\p`)+strings.Count(text, `\P`) > mostUnicode {
		return nil, ErrTooLarge
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	var failure *syntax.Error
	if errors.As(err, &failure) && failure.Code == syntax.ErrLarge {
		return nil, ErrTooLarge
	}
	return tree, err
}

// Take takes what so many instructions need out of the budget; ErrTooLarge if there is less.
func (b *Budget) Take(instructions int64) error {
	if instructions > MaxInstructions-b.spent {
		return ErrTooLarge
	}
	b.spent += instructions
	return nil
}

// Of compiles a tree that Parse has made, changed or not; ErrTooLarge if its program is larger than
// what is left of the budget.
func (b *Budget) Of(tree *syntax.Regexp) (*Pattern, error) {
	size := Instructions(tree)
	if err := b.Take(size + unicodeSet*unicodeSets(tree)); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, err
	}
	return &Pattern{re, size}, nil
}

// Compile compiles an expression of package regexp; ErrTooLarge if it is longer than MaxText or its
// program larger than what is left of the budget.
func (b *Budget) Compile(text string) (*Pattern, error) {
	if len(text) > MaxText {
		return nil, ErrTooLarge
	}
	tree, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return b.Of(tree)
}

// Within is the expression for a text of so many bytes; nil if a match could take more than a few
// seconds.
func (p *Pattern) Within(bytes int) *regexp.Regexp {
	if p.size*int64(bytes) > maxSteps {
		return nil
	}
	return p.re
}

// Match reports whether there is a match in the text. There is none where looking for it could take
// more than a few seconds, as in PCRE after too many steps.
func (p *Pattern) Match(text []byte) bool {
	re := p.Within(len(text))
	return re != nil && re.Match(text)
}
