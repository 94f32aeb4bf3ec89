package views

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/views/fields"
	"github.com/settee-db/settee/views/reduce"
)

// CheckDesign checks a design document as CouchDB does when it is saved (couch_mrview:validate);
// body is its canonical JSON. tenant is the database, partitioned its kind. The error is a
// *compat.Error: invalid_design_doc, compilation_error, ….
func (v *Views) CheckDesign(ctx context.Context, tenant string, partitioned bool, body []byte) error {
	ddoc, err := ejson.Parse(body)
	if err != nil {
		return corrupt("design document")
	}
	language := languageJavaScript
	if l, ok := ddoc.Get("language"); ok {
		language = l.Text()
	}
	if err := fields.Check(ddoc, language == languageQuery); err != nil {
		return err
	}
	options, _ := ddoc.Get("options")
	if isTrue(options, "partitioned") && !partitioned {
		return compat.NewError(compat.KindInvalidDesignDoc,
			"partitioned option cannot be true in a non-partitioned database.")
	}
	if _, _, err := v.CompileRule(ddoc, math.MaxInt64); err != nil {
		return err
	}
	return v.checkFunctions(ctx, tenant, language, ddoc)
}

// CompileRule reads the validate_doc_update of a design document whose language has objects for it;
// see RuleLanguage. It is nil where that is a function, or not there. Case does not count in the
// name of the language (couch_proc_manager, which looks in upper case). The error is a
// *compat.Error: CouchDB takes every object and every string, and fails on each write of a document
// then.
func (v *Views) CompileRule(
	ddoc ejson.Value, most int64,
) (valid func(change ejson.Value) bool, size int64, err error) {
	rule, given := ddoc.Get("validate_doc_update")
	if !given {
		return nil, 0, nil
	}
	language, _ := ddoc.Get("language")
	ruled, isRuled := v.opts.Languages[strings.ToLower(language.Text())].(RuleLanguage)
	if err := fields.CheckRule(ddoc, isRuled); err != nil || !isRuled {
		return nil, 0, err
	}
	return ruled.CompileRule(rule, most)
}

// checkFunctions compiles the functions of all views.
func (v *Views) checkFunctions(ctx context.Context, tenant, language string, ddoc ejson.Value) error {
	native, known := v.opts.Languages[language]
	script, scripted := js.LanguageNamed(language)
	scripted = scripted && v.opts.JS != nil
	if !known && !scripted {
		return nil // documents in unknown languages may be saved
	}
	for _, m := range fields.Maps(ddoc) {
		if scripted {
			source := script.Source(m.Source)
			if err := named(v.opts.JS.CheckMap(ctx, tenant, source), "map", m.View()); err != nil {
				return err
			}
		} else if _, err := native.Compile(Definition{Map: m.JSON, Options: m.Options}); err != nil {
			return err
		}
		for _, r := range m.Reduces {
			if reduce.Builtin(r.Source) {
				if err := reduce.CheckName(r.Source); err != nil {
					return err
				}
			} else if scripted {
				source := script.Source(r.Source)
				if err := named(v.opts.JS.CheckReduce(ctx, tenant, source), "reduce", r.View); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// named puts the view before the reason of a compilation error (couch_query_servers:try_compile).
func named(err error, function, view string) error {
	var e *compat.Error
	if !errors.As(err, &e) || e.Kind != compat.KindCompilationError {
		return err
	}
	c := *e
	c.Reason = fmt.Sprintf("Compilation of the %s function in the '%s' view failed: %s", function, view, e.Reason)
	return &c
}
