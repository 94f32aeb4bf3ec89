package js

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js/script"
)

// Language is what the functions of a design document are written in, as far as workers run it.
type Language uint8

// The languages that CouchDB has query servers for.
const (
	JavaScript Language = iota
	CoffeeScript
)

// LanguageNamed finds a language by the member `language` of a design document. Case does not count
// (couch_proc_manager, which looks in upper case).
func LanguageNamed(name string) (l Language, ok bool) {
	for l, known := range [...]string{JavaScript: "javascript", CoffeeScript: "coffeescript"} {
		if len(name) == len(known) && strings.EqualFold(name, known) {
			return Language(l), true //nolint:gosec // one of two
		}
	}
	return JavaScript, false
}

// coffeeMark begins sources in CoffeeScript where they go to a worker.
const coffeeMark = "coffeescript\x00"

// Source gives the text of a function as programs and the pool's methods take it: it says its
// language.
func (l Language) Source(text string) string {
	if l == CoffeeScript {
		return coffeeMark + text
	}
	return text
}

// compileFunction compiles the source of a function of a design document, as Language.Source gives
// it. Errors are those that CouchDB answers with (Couch.compileFunction in share/server/util.js).
func (w *worker) compileFunction(source string) (*script.Program, error) {
	written, isCoffee := strings.CutPrefix(source, coffeeMark)
	if written == "" {
		return nil, compat.NewError(compat.KindNotFound, "missing function")
	}
	program, err := w.compiler.Function(written, isCoffee)
	if err != nil {
		return nil, err
	}
	if program.Refusal != "" {
		return nil, compilationError(program.Refusal, written)
	}
	return program, nil
}

func compilationError(refusal, source string) *compat.Error {
	return compat.NewError(compat.KindCompilationError, refusal+" ("+source+")")
}
