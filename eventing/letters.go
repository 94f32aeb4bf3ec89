package eventing

import (
	"context"

	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage/kv"
)

// Outbox tells how much is in the outbox of a function.
func (c console) Outbox(ctx context.Context, r *registry.Record) (outbox.Sizes, error) {
	if r.Instance == 0 {
		return outbox.Sizes{}, nil
	}
	return outboxOf(ctx, c.e, r.Instance)
}

// DeadLetters lists the dead letters of a function: outbox.List.
func (c console) DeadLetters(
	ctx context.Context, r *registry.Record, behind, destination string, most int,
) (outbox.Letters, error) {
	return outbox.List(ctx, c.e.o.KV, spaceOf(r.Instance).outbox(), behind, destination, most)
}

// DeadLetter gives a dead letter of a function with its message; nil if there is none of that id.
func (c console) DeadLetter(ctx context.Context, r *registry.Record, id string) (*outbox.Letter, error) {
	return outbox.Read(ctx, c.e.o.KV, spaceOf(r.Instance).outbox(), id)
}

// DeleteDeadLetters forgets dead letters of a function, and tells how many.
func (c console) DeleteDeadLetters(ctx context.Context, r *registry.Record, which outbox.Choice) (int, error) {
	return outbox.Change(ctx, c.e.o.KV, spaceOf(r.Instance).outbox(), which, 0, nil, nil)
}

// ReplayDeadLetters has dead letters of a function delivered again, as if they were published now, and
// tells how many. Letters that come meanwhile may be left out. Processes that work on the function are
// told by the count of owners' changes, which they watch.
func (c console) ReplayDeadLetters(ctx context.Context, r *registry.Record, which outbox.Choice) (int, error) {
	s := spaceOf(r.Instance)
	return outbox.Change(ctx, c.e.o.KV, s.outbox(), which, c.e.now().UnixMilli(),
		func(tx kv.Tx) { tx.Atomic(kv.Add, s.ownersChanged(), oneMore) },
		func(due []*outbox.Waiting) {
			c.e.mu.Lock()
			defer c.e.mu.Unlock()
			if run := c.e.running[r.Ref()]; run != nil && run.f != nil && run.f.instance == r.Instance {
				for _, w := range due {
					run.f.mail.Set(w.Partition, w.Due)
				}
			}
		})
}
