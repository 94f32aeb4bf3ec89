package mango

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

var errRuleTooLarge = compat.Named(compat.KindBadRequest, "invalid_selector",
	"The selector of validate_doc_update has too many conditions.")

// CompileRule implements views.RuleLanguage: the rule is a selector, which a change has to pass
// (mango_native_proc:handle_call/3, "ddoc"). It is asked in the transaction of each write, so it
// has the bounds of a partial index's selector: those of maxFilter, and no pattern that needs the
// backtracking engine. A change on which it fails, as $mod by 0 does, is not valid.
func (Views) CompileRule(
	rule ejson.Value, most int64,
) (valid func(change ejson.Value) bool, size int64, err error) {
	if size = selector.Size(rule); size > min(maxFilter, most) {
		return nil, 0, errRuleTooLarge
	}
	s, err := selector.ParseSelector(rule)
	if err == nil {
		err = checkFilter(s)
	}
	if err != nil {
		return nil, 0, err
	}
	return func(change ejson.Value) bool { return allows(s, change) }, size, nil
}

// allows reports whether a change passes.
func allows(s *selector.Selector, change ejson.Value) bool {
	passes, err := s.Match(change)
	return passes && err == nil
}
