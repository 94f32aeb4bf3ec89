package functions

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// The answers to requests that have changed something, in Couchbase's spelling.
const (
	infoStored  = "Successfully stored"
	infoDeleted = "Succesfully deleted"
)

// put stores the function that the path names: POST /functions/{name}.
func (h *Handlers) put(c *call.Call) error {
	if err := requireUser(c); err != nil {
		return err
	}
	list, err := bodyList(c)
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return definition.Errorf(definition.CodeInvalidRequest, "One function is expected, not %d", len(list))
	}
	scope, err := givenScope(c)
	if err != nil {
		return err
	}
	warnings, err := h.store(c, list[0], definition.ParseOptions{Name: c.Segment(nameSegment), Scope: scope})
	if err != nil {
		return err
	}
	return done(c, infoStored, warnings...)
}

// putAll stores a list of functions, each by itself: POST /functions.
func (h *Handlers) putAll(c *call.Call) error {
	return h.storeAll(c, func(f json.RawMessage) (definition.ParseOptions, json.RawMessage, error) {
		scope, err := givenScope(c)
		return definition.ParseOptions{Scope: scope}, f, err
	})
}

// storeAll stores the functions of a list, each by itself, as prepare says. The answer is 200
// whatever becomes of them.
func (h *Handlers) storeAll(
	c *call.Call,
	prepare func(f json.RawMessage) (definition.ParseOptions, json.RawMessage, error),
) error {
	if err := requireUser(c); err != nil {
		return err
	}
	list, err := bodyList(c)
	if err != nil {
		return err
	}
	rows := make([]envelope, 0, len(list))
	for _, f := range list {
		o, f, err := prepare(f)
		var warnings []string
		if err == nil && f == nil {
			continue // it was not asked for
		}
		if err == nil {
			warnings, err = h.store(c, f, o)
		}
		if c.Context().Err() != nil {
			return err
		}
		rows = append(rows, row(err, infoStored, warnings))
	}
	return show(c, rows)
}

// bodyList is the list of functions in the body.
func bodyList(c *call.Call) ([]json.RawMessage, error) {
	text, err := body(c)
	if err != nil {
		return nil, err
	}
	return definition.ParseList(text)
}

// store stores one function. One that says of itself that it is deployed is deployed.
func (h *Handlers) store(c *call.Call, text []byte, o definition.ParseOptions) (warnings []string, err error) {
	config, err := h.registry.Config(c.Context())
	if err != nil {
		return nil, err
	}
	o.MaxCode = config.FunctionSize
	f, err := definition.Parse(text, o)
	if err != nil {
		return nil, err
	}
	if o.Import {
		f.Settings.Deployment, f.Settings.Processing = false, false
	}
	var stored *registry.Record
	err = retried(func() error {
		seen, err := h.registry.Get(c.Context(), f.Ref())
		if err != nil {
			return err
		}
		stored, warnings, err = h.replace(c, f.Clone(), seen)
		return err
	})
	if err == nil && f.Settings.Deployment && f.Settings.Processing && stored.State == definition.Undeployed {
		_, err = h.operate(c, f.Ref(), definition.OpDeploy)
	}
	return warnings, err
}

// replace stores f in the place of the record that was seen, nil for none, and returns the warnings
// of the compiler. The caller passes f on and does not change it afterwards.
func (h *Handlers) replace(c *call.Call, f *definition.Function, seen *registry.Record) (
	*registry.Record, []string, error) {
	var before *definition.Function
	if seen != nil {
		if err := mayManageRecord(c, seen); err != nil {
			return nil, nil, err
		}
		before = seen.Draft
	}
	if err := mayManage(c, f); err != nil {
		return nil, nil, err
	}
	warnings, err := f.KeepSecrets(before)
	if err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, f.Warnings()...)
	if before != nil {
		if err := definition.CheckChange(seen.State, before, f); err != nil {
			return nil, nil, err
		}
	}
	if seen == nil || seen.State != definition.Deployed { // else the code is as it was
		compiled, failed := h.engine.Compile(c.Context(), f)
		if failed != nil {
			return nil, nil, failed
		}
		warnings = append(warnings, compiled.Warnings...)
	}
	stored, err := h.registry.Put(c.Context(), f, seen)
	return stored, warnings, err
}

// get shows a function: GET /functions/{name}.
func (h *Handlers) get(c *call.Call) error {
	r, err := h.byPath(c)
	if err != nil {
		return err
	}
	return show(c, shown(r))
}

// shown is a function as clients see it.
func shown(r *registry.Record) *definition.Function { return r.Draft.Shown(r.State) }

// getAll shows all functions: GET /functions.
func (h *Handlers) getAll(c *call.Call) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	list := make([]*definition.Function, len(all))
	for i, r := range all {
		list[i] = shown(r)
	}
	return show(c, list)
}

// remove deletes a function: DELETE /functions/{name}.
func (h *Handlers) remove(c *call.Call) error {
	var uuid uint64
	if text, ok := c.Query.First("handleruuid"); ok {
		var err error
		if uuid, err = strconv.ParseUint(text, 10, 32); err != nil || uuid == 0 {
			return definition.Errorf(definition.CodeInvalidRequest, "handleruuid is no number of a function: %q", text)
		}
	}
	err := retried(func() error {
		r, err := h.byPath(c)
		if err != nil {
			return err
		}
		return h.registry.Delete(c.Context(), r, uint32(uuid))
	})
	if err != nil {
		return err
	}
	return done(c, infoDeleted)
}

// removeAll deletes the functions that are undeployed: DELETE /functions.
func (h *Handlers) removeAll(c *call.Call) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.State != definition.Undeployed {
			continue
		}
		// One that was changed, deployed or deleted meanwhile is passed over: it is none that was
		// asked for.
		err := h.registry.Delete(c.Context(), r, 0)
		if err != nil && !errors.Is(err, registry.ErrChanged) {
			return err
		}
	}
	return done(c, infoDeleted)
}
