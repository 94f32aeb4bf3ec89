package js

import (
	"strings"

	"github.com/dop251/goja"
	"golang.org/x/text/cases"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	collation "github.com/settee-db/settee/compat/collate"
)

// nativeCompare is localeCompare: the two texts and a language tag, "" for the root order.
func (s *sandbox) nativeCompare(c goja.FunctionCall) goja.Value {
	a, b := c.Argument(0).String(), c.Argument(1).String()
	if a == b {
		return s.vm.ToValue(0)
	}
	locale := c.Argument(2).String()
	if locale == "" || strings.HasPrefix(locale, "en") {
		return s.vm.ToValue(collation.CompareStrings([]byte(a), []byte(b)))
	}
	return s.vm.ToValue(s.w.collator(locale).CompareString(a, b))
}

// collator gives the order of a language; unknown ones have the root order.
func (w *worker) collator(name string) *collate.Collator {
	if c, ok := w.collators[name]; ok {
		return c
	}
	if len(w.collators) >= 64 {
		clear(w.collators)
	}
	c := collate.New(language.Make(name))
	w.collators[name] = c
	return c
}

// lowerIn and upperIn change the case as a language does it; the languages that differ are Turkish, Azeri, Lithuanian and
// Greek.
func lowerIn(s, locale string) string {
	return cases.Lower(language.Make(locale)).String(s)
}

func upperIn(s, locale string) string {
	return cases.Upper(language.Make(locale)).String(s)
}
