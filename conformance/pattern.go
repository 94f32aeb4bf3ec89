package conformance

import (
	"fmt"
	"sync"

	"github.com/dlclark/regexp2/v2"
)

// Scenarios carry regular expressions in Perl's dialect, with lookaround, which Go's regexp does
// not have.
var patterns sync.Map // expression → *regexp2.Regexp

// pattern compiles an expression once for all scenarios. They are regexp2's, because recordings use
// what Go's own do not have.
func pattern(expr string) (*regexp2.Regexp, error) {
	if p, ok := patterns.Load(expr); ok {
		return p.(*regexp2.Regexp), nil
	}
	p, err := regexp2.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", expr, err)
	}
	patterns.Store(expr, p)
	return p, nil
}

// matches reports whether expr matches anywhere in text.
func matches(expr, text string) (bool, error) {
	p, err := pattern(expr)
	if err != nil {
		return false, err
	}
	return p.MatchString(text)
}

// extract returns the first group of the first match of expr in text (the whole match if expr has
// no group); false if there is no match.
func extract(expr, text string) (string, bool, error) {
	p, err := pattern(expr)
	if err != nil {
		return "", false, err
	}
	m, err := p.FindStringMatch(text)
	if err != nil || m == nil {
		return "", false, err
	}
	if m.GroupCount() > 1 {
		return m.GroupByNumber(1).String(), true, nil
	}
	return m.String(), true, nil
}

// replaceAll replaces every match of expr in text with the literal by, which must not contain a
// dollar sign.
func replaceAll(expr, text, by string) (string, error) {
	p, err := pattern(expr)
	if err != nil {
		return "", err
	}
	return p.Replace(text, by, -1, -1)
}
