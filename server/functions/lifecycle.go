package functions

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// onTheWay is the answer to a request that has begun an operation, in Couchbase's spelling.
var onTheWay = map[definition.State]string{
	definition.Deploying: "deploying", definition.Resuming: "Resuming", definition.Pausing: "Pausing",
	definition.Undeploying: "undeploying",
}

// lifecycle makes the handler of an operation: POST /functions/{name}/deploy. With wait=30s in the
// query the answer comes when the operation has ended, or after that time.
func (h *Handlers) lifecycle(op definition.Operation) call.Handler {
	return func(c *call.Call) error {
		ref, err := pathRef(c)
		if err != nil {
			return err
		}
		wait, err := waitTime(c)
		if err != nil {
			return err
		}
		r, err := h.operate(c, ref, op)
		if err != nil {
			return err
		}
		word, begun := onTheWay[r.State], r
		if wait > 0 {
			if r, err = h.settled(c.Context(), begun, wait); err != nil {
				return err
			}
			if r.State.Settled() {
				word = string(r.State)
			}
		}
		return done(c, fmt.Sprintf("Function: %s is %s", ref, word))
	}
}

// settled waits until the operation that has begun has ended, for at most wait. It returns an error
// if the function ended in another state than was asked for.
func (h *Handlers) settled(ctx context.Context, begun *registry.Record, wait time.Duration) (*registry.Record, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r, err := h.registry.WaitFor(limited, begun.Ref())
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return begun, nil
	case err != nil:
		return nil, err
	case r == nil:
		return nil, definition.Errorf(definition.CodeUnknownFunction, "Function: %s not found", begun.Ref())
	case r.State.Settled() && r.State != begun.State.Target():
		return nil, definition.Errorf(definition.CodeOperationFailed, "Function: %s is %s, not %s; its log says why",
			begun.Ref(), r.State, begun.State.Target())
	}
	return r, nil
}

// maxWait is how long a request may wait for the end of an operation.
const maxWait = 10 * time.Minute

// waitTime reads wait: a duration as 30s, or seconds.
func waitTime(c *call.Call) (time.Duration, error) {
	text, ok := c.Query.First("wait")
	if !ok {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if seconds, bad := strconv.ParseUint(text, 10, 16); bad == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, definition.Errorf(definition.CodeInvalidRequest, "wait: %q is no time, as 30s is", text)
	}
	return min(d, maxWait), nil
}

// operate begins an operation on a function that the user may manage.
func (h *Handlers) operate(c *call.Call, ref definition.Ref, op definition.Operation) (r *registry.Record, err error) {
	err = retried(func() error {
		seen, err := h.managed(c, ref, definition.CodeUnknownFunction)
		if err != nil {
			return err
		}
		if _, err := seen.State.Begin(op, ref.String()); err != nil {
			return err
		}
		switch op {
		case definition.OpPause:
			r, err = h.registry.Pause(c.Context(), seen)
		case definition.OpUndeploy:
			r, err = h.registry.Undeploy(c.Context(), seen)
		default:
			r, err = h.deploy(c, seen)
		}
		return err
	})
	return r, err
}

// deploy begins to deploy a function. It is refused unless the databases exist, the code compiles,
// and the owner may write to everything that the code writes to.
func (h *Handlers) deploy(c *call.Call, seen *registry.Record) (*registry.Record, error) {
	f := seen.Draft
	config, err := h.registry.Config(c.Context())
	if err != nil {
		return nil, err
	}
	if err := config.CheckCurl(f); err != nil {
		return nil, err
	}
	for _, name := range f.Databases() {
		exists, err := c.Env.Store.DB(name).Exists(c.Context())
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, definition.Errorf(definition.CodeBucketMissing, "Function: %s: database %s does not exist",
				seen.Ref(), name)
		}
	}
	compiled, failed := h.engine.Compile(c.Context(), f)
	if failed != nil {
		return nil, failed
	}
	if err := mayManage(c, f, compiled.Queries...); err != nil {
		return nil, err
	}
	return h.registry.Deploy(c.Context(), seen, owner(c), compiled.Queries)
}
