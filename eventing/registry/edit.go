package registry

import (
	"context"
	"math/rand/v2"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
)

// Put defines a function, or changes it as far as its state allows. seen is its record as the
// caller knows it, nil for none. f is not used afterwards. What is deployed follows only in
// settings that may change while it runs.
func (g *Registry) Put(ctx context.Context, f *definition.Function, seen *Record) (*Record, error) {
	uuid := rand.Uint32() | 1 // of a new function; never 0, which is none
	// A new function's versions are not those of a deleted one with its name, which others may have
	// seen.
	first := uint64(rand.Uint32())
	now := g.now()
	return g.change(ctx, f.Ref(), version(seen), func(_ kv.Tx, r *Record) (*Record, error) {
		f := f.Clone()                                              // it may be written more than once
		f.Settings.Deployment, f.Settings.Processing = false, false // State tells them
		if r.Version == 0 {
			f.UUID, f.InstanceID = uuid, ""
			return &Record{Version: first, State: definition.Undeployed, Draft: f, Changed: now}, nil
		}
		if err := definition.CheckChange(r.State, r.Draft, f); err != nil {
			return nil, err
		}
		f.UUID, f.InstanceID = r.Draft.UUID, r.Draft.InstanceID
		r.Draft = f
		if r.State == definition.Deployed {
			r.Deployed = f
		}
		return r, nil
	})
}

// Delete forgets a function, which has to be undeployed. uuid is which one is meant, 0 for any of
// the name.
func (g *Registry) Delete(ctx context.Context, seen *Record, uuid uint32) error {
	ref := seen.Ref()
	_, err := g.change(ctx, ref, seen.Version, func(tx kv.Tx, r *Record) (*Record, error) {
		if uuid != 0 && uuid != r.Draft.UUID {
			return nil, definition.Errorf(definition.CodeNotFound, "Function: %s with handleruuid %d not found", ref,
				uuid)
		}
		if r.State != definition.Undeployed {
			return nil, definition.Errorf(definition.CodeNotUndeployed,
				"Function: %s is %s, only undeployed functions can be deleted", ref, r.State)
		}
		return nil, g.hooks.Deleted(tx, r)
	})
	return err
}
