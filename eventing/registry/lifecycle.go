package registry

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
)

// Deploy begins to deploy an undeployed function, or to resume a paused one, with the rights of
// owner. queries are the databases that statements in its code write to. It is refused where
// functions would trigger each other without end.
func (g *Registry) Deploy(ctx context.Context, seen *Record, owner Principal, queries []string) (*Record, error) {
	ref, now := seen.Ref(), g.now()
	return g.change(ctx, ref, seen.Version, func(tx kv.Tx, r *Record) (*Record, error) {
		to, err := r.State.Begin(definition.OpDeploy, ref.String())
		if err != nil {
			return nil, err
		}
		if err := g.checkRecursion(tx, r.Draft.Flow(queries)); err != nil {
			return nil, err
		}
		fresh := r.State == definition.Undeployed
		if fresh {
			if r.Instance, err = nextInstance(tx); err != nil {
				return nil, err
			}
			r.Draft = r.Draft.Clone()
			r.Draft.InstanceID = fmt.Sprintf("%d-%s", r.Draft.UUID, strconv.FormatInt(r.Instance, 36))
		}
		r.State, r.Changed, r.Deployed, r.Owner, r.Queries, r.Reason = to, now, r.Draft, owner, queries, ""
		if fresh {
			return r, g.hooks.Deploy(tx, r)
		}
		return r, nil
	})
}

// checkRecursion looks at all deployed functions, so that of two that may not be deployed together
// one comes too late.
func (g *Registry) checkRecursion(tx kv.Tx, f definition.Flow) error {
	c, err := readConfig(tx)
	if err != nil || c.AllowRecursion {
		return err
	}
	all, err := g.scanAll(tx)
	if err != nil {
		return err
	}
	var deployed []definition.Flow
	for _, r := range all {
		if r.State != definition.Undeployed {
			deployed = append(deployed, r.flow())
		}
	}
	return definition.CheckRecursion(f, deployed)
}

// nextInstance takes a number that no instance had.
func nextInstance(tx kv.Tx) (int64, error) {
	k := key(keyNextInstance)
	n, err := readCount(tx, k)
	if err != nil {
		return 0, err
	}
	tx.Set(k, binary.LittleEndian.AppendUint64(nil, n+1))
	return int64(n) + 1, nil
}

// Pause begins to pause a deployed function.
func (g *Registry) Pause(ctx context.Context, seen *Record) (*Record, error) {
	return g.begin(ctx, seen, definition.OpPause, "")
}

// Stop is Pause for a reason that the record tells until the function is resumed or undeployed.
func (g *Registry) Stop(ctx context.Context, seen *Record, reason string) (*Record, error) {
	return g.begin(ctx, seen, definition.OpPause, reason)
}

// Undeploy begins to undeploy a deployed or paused function.
func (g *Registry) Undeploy(ctx context.Context, seen *Record) (*Record, error) {
	return g.begin(ctx, seen, definition.OpUndeploy, "")
}

func (g *Registry) begin(
	ctx context.Context, seen *Record, op definition.Operation, reason string,
) (*Record, error) {
	ref, now := seen.Ref(), g.now()
	return g.change(ctx, ref, seen.Version, func(_ kv.Tx, r *Record) (*Record, error) {
		to, err := r.State.Begin(op, ref.String())
		if err != nil {
			return nil, err
		}
		r.State, r.Changed, r.Reason = to, now, reason
		return r, nil
	})
}

// Finish ends a state on the way, from, with a settled one: the one that was asked for, or, where
// deploying or resuming has failed, the one before. It is for the engine that did the work.
// ErrChanged: the function is not in that state any more, or another instance is; somebody else has
// ended it.
func (g *Registry) Finish(ctx context.Context, ref definition.Ref, instance int64, from, to definition.State) error {
	return g.FinishFailed(ctx, ref, instance, from, to, "")
}

// FinishFailed is Finish with what the record tells of the way: why the function is not what it was to be,
// or what it could not do before. An empty reason leaves that of the record.
func (g *Registry) FinishFailed(
	ctx context.Context, ref definition.Ref, instance int64, from, to definition.State, reason string,
) error {
	_, err := g.store.Update(ctx, func(tx kv.Tx) error { return g.FinishIn(tx, ref, instance, from, to, reason) })
	return err
}

// FinishIn is FinishFailed as a part of a transaction that does the work.
func (g *Registry) FinishIn(
	tx kv.Tx, ref definition.Ref, instance int64, from, to definition.State, reason string,
) error {
	if !from.MayEnd(to) {
		return fmt.Errorf("eventing: %s does not end as %s", from, to)
	}
	r, err := read(tx, ref)
	switch {
	case err != nil:
		return err
	case r == nil || r.State != from || r.Instance != instance:
		return ErrChanged
	}
	now := g.now()
	if to == definition.Paused {
		if err := g.hooks.Paused(tx, r.copy()); err != nil {
			return err
		}
	}
	if to == definition.Undeployed {
		if err := g.hooks.Undeployed(tx, r.copy()); err != nil {
			return err
		}
		tx.Clear(debuggingKey(ref))
		r.Draft = r.Draft.Clone()
		r.Draft.InstanceID = ""
		r.Deployed, r.Instance, r.Queries, r.Paused = nil, 0, nil, nil
	}
	if from == definition.Pausing {
		r.Paused = &now
	}
	if reason != "" {
		r.Reason = reason
	}
	r.State, r.Changed, r.Version = to, now, r.Version+1
	noteChange(tx)
	return write(tx, r)
}
