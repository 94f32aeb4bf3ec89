package js

import (
	_ "embed" // what index functions have beside the prelude
	"errors"
	"slices"
	"sync"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/js/script"
)

//go:embed index.js
var indexSource string

// indexPrelude is compiled once in a worker.
var indexPrelude = sync.OnceValue(func() *script.Program { return script.Compile(indexSource) })

// provideIndex gives a realm index() and takes emit() away.
func (s *sandbox) provideIndex(of SearchIndex) error {
	common := indexPrelude()
	if common.Refusal != "" {
		return errors.New("js: index: " + common.Refusal)
	}
	start, err := s.run(common)
	if err != nil {
		return err
	}
	run, _ := goja.AssertFunction(start)
	keep := func(c goja.FunctionCall) goja.Value {
		if last := len(c.Arguments) - 1; s.index != nil && last > 0 {
			s.index(slices.Clone(c.Arguments[:last]), c.Arguments[last])
		}
		return goja.Undefined()
	}
	index, err := run(goja.Undefined(), s.vm.ToValue(keep), s.vm.ToValue(of == NouveauIndex))
	if err != nil {
		return err
	}
	if err := s.vm.Set("emit", func(goja.FunctionCall) goja.Value { return goja.Undefined() }); err != nil {
		return err
	}
	return s.vm.Set("index", index)
}
