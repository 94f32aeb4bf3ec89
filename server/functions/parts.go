package functions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// changed changes the function that the path names, by fn, and says what the compiler warns of.
func (h *Handlers) changed(c *call.Call, fn func(r *registry.Record, f *definition.Function) error) (
	warnings []string, err error) {
	err = retried(func() error {
		r, err := h.byPath(c)
		if err != nil {
			return err
		}
		f := r.Draft.Clone()
		if err := fn(r, f); err != nil {
			return err
		}
		_, warnings, err = h.replace(c, f, r)
		return err
	})
	return warnings, err
}

// stored is the answer to a request that has changed a part of the function in its path.
func stored(c *call.Call, part string) string {
	return fmt.Sprintf("Function: %s stored %s", c.Segment(nameSegment), part)
}

// getSettings: GET /functions/{name}/settings.
func (h *Handlers) getSettings(c *call.Call) error {
	r, err := h.byPath(c)
	if err != nil {
		return err
	}
	return show(c, shown(r).Settings)
}

// postSettings changes the settings that are in the body: POST /functions/{name}/settings. The two
// that tell the state ask for an operation where they ask for another state than the function has
// or comes to.
func (h *Handlers) postSettings(c *call.Call) error {
	if err := requireUser(c); err != nil {
		return err
	}
	object, err := body(c)
	if err != nil {
		return err
	}
	var op definition.Operation
	warnings, err := h.changed(c, func(r *registry.Record, f *definition.Function) error {
		f.Settings.Deployment, f.Settings.Processing = r.State.Statuses()
		if err := f.Settings.Merge(object, f.EnforceSchema); err != nil {
			return err
		}
		wanted, err := definition.StateOf(f.Settings.Deployment, f.Settings.Processing)
		if err != nil {
			return err
		}
		op = ""
		if wanted != r.State.Target() {
			op = definition.OperationTo(wanted)
			_, err = r.State.Begin(op, r.Ref().String()) // before anything is stored
		}
		return err
	})
	if err != nil {
		return err
	}
	if op != "" {
		ref, err := pathRef(c)
		if err != nil {
			return err
		}
		if _, err := h.operate(c, ref, op); err != nil {
			return err
		}
	}
	return done(c, stored(c, "settings"), warnings...)
}

// getBindings: GET /functions/{name}/config.
func (h *Handlers) getBindings(c *call.Call) error {
	r, err := h.byPath(c)
	if err != nil {
		return err
	}
	return show(c, shown(r).Bindings)
}

// postBindings: POST /functions/{name}/config.
func (h *Handlers) postBindings(c *call.Call) error {
	if err := requireUser(c); err != nil {
		return err
	}
	text, err := body(c)
	if err != nil {
		return err
	}
	warnings, err := h.changed(c, func(_ *registry.Record, f *definition.Function) error {
		return f.SetBindings(text)
	})
	if err != nil {
		return err
	}
	return done(c, stored(c, "config"), warnings...)
}

// getCode: GET /functions/{name}/appcode.
func (h *Handlers) getCode(c *call.Call) error {
	r, err := h.byPath(c)
	if err != nil {
		return err
	}
	return text(c, "application/javascript", []byte(r.Draft.Code))
}

// postCode: POST /functions/{name}/appcode, the code as it is.
func (h *Handlers) postCode(c *call.Call) error {
	if err := requireUser(c); err != nil {
		return err
	}
	code, err := body(c)
	if err != nil {
		return err
	}
	config, err := h.registry.Config(c.Context())
	if err != nil {
		return err
	}
	if err := definition.CheckCodeSize(string(code), config.FunctionSize); err != nil {
		return err
	}
	warnings, err := h.changed(c, func(r *registry.Record, f *definition.Function) error {
		if r.State == definition.Deployed {
			return definition.Errorf(definition.CodeInvalidRequest,
				"Function: %s is deployed: appcode cannot be changed", r.Ref())
		}
		f.Code = string(code)
		return nil
	})
	if err != nil {
		return err
	}
	return done(c, stored(c, "appcode"), warnings...)
}

// getChecksum: GET /functions/{name}/appcode/checksum.
func (h *Handlers) getChecksum(c *call.Call) error {
	r, err := h.byPath(c)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(r.Draft.Code))
	return text(c, "text/plain", []byte(hex.EncodeToString(sum[:])))
}
