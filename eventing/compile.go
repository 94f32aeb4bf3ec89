package eventing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/n1ql/lex"
	"github.com/settee-db/settee/eventing/n1ql/script"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango/selector"
)

// compiled is a definition made ready to run.
type compiled struct {
	definition.Compiled
	program  *js.EventProgram
	bindings []js.EventBinding
	selector *selector.Selector
}

// Compile checks whether a function can run, in a worker process, and gives its handlers' warnings.
// Faults of the code are errors of CodeCompilation with line and column.
func (e *Engine) Compile(ctx context.Context, d *definition.Function) (definition.Compiled, *definition.Error) {
	c, err := e.compile(d)
	if err != nil {
		return definition.Compiled{}, definition.AsError(err)
	}
	handlers, err := e.o.JS.CheckEvents(ctx, c.program)
	var wrong *js.EventSyntaxError
	if errors.As(err, &wrong) {
		return definition.Compiled{},
			definition.NewCompileError(wrong.Index, wrong.Line, wrong.Column, wrong.Description)
	}
	if err != nil {
		return definition.Compiled{}, definition.AsError(err)
	}
	c.Warnings = append(c.Warnings, handlers.Warnings...)
	return c.Compiled, nil
}

// compile puts the program of a function together: headers, code with its statements replaced, and
// footers. It does not run JavaScript, so that syntax errors of the code are found later (Compile).
func (e *Engine) compile(d *definition.Function) (*compiled, error) {
	transpiled, err := script.Transpile(d.Code)
	var wrong *lex.SyntaxError
	if errors.As(err, &wrong) {
		return nil, definition.NewCompileError(wrong.Index, wrong.Line, wrong.Column,
			wrong.Excerpt()+"\nSyntaxError: "+wrong.Message)
	}
	if err != nil {
		return nil, err
	}
	c := &compiled{bindings: bindingsOf(d)}
	for _, w := range transpiled.Warnings {
		c.Warnings = append(c.Warnings, fmt.Sprintf("line %d, column %d: %s", w.Line, w.Column, w.Message))
	}
	// What statements write to counts as bindings do: for rights, and for cycles between functions.
	for i := range transpiled.Statements {
		if err := c.target(d, &transpiled.Statements[i]); err != nil {
			return nil, err
		}
	}
	if c.selector, err = selectorOf(d.Settings.Selector); err != nil {
		return nil, err
	}
	headers := strings.Join(d.Settings.Headers, "\n")
	o := js.EventOptions{
		Tenant: d.Ref().String(),
		Code:   headers + "\n" + transpiled.Code + "\n" + strings.Join(d.Settings.Footers, "\n"),
		// Lines of errors are told as they are in the code, without the headers before it.
		HeaderLines: 1 + strings.Count(headers, "\n"),
		Bindings: slices.DeleteFunc(slices.Clone(c.bindings), func(b js.EventBinding) bool {
			return strings.Contains(b.Alias, ".")
		}),
		TimerContextSize: int(d.Settings.TimerContextSize),
		Timeout:          time.Duration(d.Settings.ExecutionTimeout) * time.Second,
		Compatibility:    d.Settings.Compatibility,
		Source:           d.Bindings.SourceBucket,
		Isolate:          d.Settings.Isolate == definition.IsolateInvocation,
	}
	for _, constant := range d.Bindings.Constants {
		o.Constants = append(o.Constants, js.EventConstant{Name: constant.Value, Literal: constant.Literal})
	}
	for _, url := range d.Bindings.Curl {
		o.Curls = append(o.Curls, url.Value)
	}
	for _, s := range d.Settings.Schedules {
		o.Calls = append(o.Calls, s.Call)
	}
	c.program = js.NewEventProgram(o)
	return c, nil
}

// bindingsOf are the databases of a function. Those whose alias is a path are for statements alone.
func bindingsOf(d *definition.Function) (list []js.EventBinding) {
	for _, b := range d.Bindings.Buckets {
		list = append(list, js.EventBinding{
			Alias: b.Alias, Database: b.BucketName, Writable: b.Access == definition.ReadWrite,
		})
	}
	return list
}

// target notes where a statement writes to, and refuses what it must not: databases that are not
// bound, or not to be written. A keyspace that is a parameter is looked at when the statement runs.
func (c *compiled) target(d *definition.Function, s *script.Embedded) error {
	for _, name := range s.Keyspaces {
		if strings.HasPrefix(name, "$") {
			continue
		}
		database, writable, bound := boundTo(c.bindings, d.Bindings.SourceBucket, name)
		switch {
		case !bound:
			return definition.NewCompileError(s.Index, s.Line, s.Column,
				"keyspace "+name+" is not bound to the function: depcfg.buckets has to name it")
		case name != s.Target:
		case !writable:
			return definition.NewCompileError(s.Index, s.Line, s.Column, "keyspace "+name+" is bound for reading only")
		case database == d.Bindings.SourceBucket:
			return definition.Errorf(definition.CodeDatabaseRecursion,
				"a statement in line %d writes to the source of the function: %s", s.Line, database)
		case !slices.Contains(c.Queries, database):
			c.Queries = append(c.Queries, database)
		}
	}
	return nil
}

// boundTo is the database that a keyspace of a statement names: by the alias of a binding, or by
// its own name where a binding or the function's source is that database.
func boundTo(bindings []js.EventBinding, source, name string) (database string, writable, bound bool) {
	for i := range bindings {
		if bindings[i].Alias == name {
			return bindings[i].Database, bindings[i].Writable, true
		}
	}
	for i := range bindings {
		if bindings[i].Database == name {
			bound, writable = true, writable || bindings[i].Writable
		}
	}
	return name, writable, bound || name == source
}

// selectorOf reads the selector of a function's settings; nil if there is none. The error is one of
// CodeInvalidConfig.
func selectorOf(text []byte) (*selector.Selector, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	v, err := ejson.Parse(text)
	if err != nil {
		return nil, definition.Errorf(definition.CodeInvalidConfig, "selector: %v", err)
	}
	s, err := selector.ParseSelector(v)
	if refused, ok := compat.AsError(err); ok {
		return nil, definition.Errorf(definition.CodeInvalidConfig, "selector: %s", refused.Reason)
	}
	return s, err
}
