package autopurge

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// History removes the replaced revisions that their databases have kept for as long as they are to,
// pass by pass: in a pass it looks at each database once. It is for one goroutine.
type History struct {
	Store *storage.Store
	Log   *slog.Logger
	Now   func() time.Time
	Rate  func() int64 // revisions removed in a second at most

	names []string // databases of the pass that are to come
	next  time.Time
}

// historyEvery is the time from one pass to the next.
const historyEvery = time.Hour

// Step does the next piece of work, about a transaction, and tells when the one after it may be
// done. What goes wrong with one database is logged, and the pass goes on with the next one, but
// for a store that does not answer.
func (h *History) Step(ctx context.Context) (again time.Time, err error) {
	now := h.Now()
	if len(h.names) == 0 {
		if now.Before(h.next) {
			return h.next, nil
		}
		h.next = now.Add(historyEvery)
		err := h.Store.AllDBs(ctx, storage.RangeOptions{Limit: -1}, func(name string) error {
			h.names = append(h.names, name)
			return nil
		})
		return now, err
	}
	done, more, err := h.Store.DB(h.names[0]).ForgetReplaced(ctx)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrClosed) {
			return now, err
		}
		if !errors.Is(err, compat.KindNoDatabase) {
			h.Log.Warn("replaced revisions are not removed", "database", h.names[0], "error", err)
		}
	}
	if err != nil || !more {
		h.names = h.names[1:]
	}
	return now.Add(time.Duration(done) * time.Second / time.Duration(max(h.Rate(), 1))), nil
}
