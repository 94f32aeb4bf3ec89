package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/kv"
)

// healthTimeout bounds how long /_up waits for a store that does not answer. Load balancers wait
// for a few seconds.
const healthTimeout = 2 * time.Second

// health asks the store whether it works. One question is under way at a time, however many ask and
// however long it takes.
type health struct {
	store interface{ Health(context.Context) error }
	log   *slog.Logger

	mu     sync.Mutex
	asking chan struct{} // closed when the answer is there, nil when nobody asks
	began  time.Time
	err    error // the last answer
}

// ask gives the store's answer, context.DeadlineExceeded if there is none within healthTimeout.
func (h *health) ask(ctx context.Context) error {
	h.mu.Lock()
	asking := h.asking
	if asking == nil {
		asking = make(chan struct{})
		h.asking, h.began = asking, time.Now()
		go h.probe(asking)
	}
	left := time.NewTimer(healthTimeout - time.Since(h.began))
	h.mu.Unlock()
	defer left.Stop()
	select {
	case <-asking:
	case <-left.C:
		h.answered(context.DeadlineExceeded)
		return context.DeadlineExceeded
	case <-ctx.Done():
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// probe asks the store once for all requests that wait. It goes on after the request that began it
// has ended.
func (h *health) probe(asking chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	h.answered(h.store.Health(ctx))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asking = nil
	close(asking)
}

// answered keeps an answer and logs it if it is news.
func (h *health) answered(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil && h.err == nil:
		h.log.Error("the store does not work", "error", err)
	case err == nil && h.err != nil:
		h.log.Info("the store works again")
	}
	h.err = err
}

// unhealthy is what /_up says of an error of the store, to anybody who asks: the rest is in the
// log.
func unhealthy(err error) string {
	switch {
	case errors.Is(err, kv.ErrUnwritable):
		return "The data directory cannot be written: the store reads, writes are refused."
	case errors.Is(err, kv.ErrFull):
		return "No space is left for the store: it reads, deletes, purges and compacts; other writes are refused."
	case errors.Is(err, kv.ErrCorrupt):
		return "The store is corrupt."
	case errors.Is(err, kv.ErrFormat):
		return "The store was upgraded to a format of another version of settee than this node's."
	case errors.Is(err, kv.ErrLocked):
		return "The store's directory is no longer this process's: its LOCK was removed or replaced."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, kv.ErrTooOld), errors.Is(err, kv.ErrUnavailable):
		return "The store does not answer."
	case errors.Is(err, kv.ErrClosed):
		return "The server is stopping."
	}
	return "The store has failed: writes are refused."
}

// getUp answers load balancers (GET /_up). In maintenance mode it is 404, as in CouchDB. A store
// that does not work, which CouchDB does not check, is 503.
func (h *Handlers) getUp(c *call.Call) error {
	if mode := c.Settings.Maintenance; mode == "true" || mode == "nolb" {
		status := mode
		if mode == "true" {
			status = "maintenance_mode"
		}
		return c.JSON(http.StatusNotFound, append(ejson.AppendString([]byte(`{"status":`), status), '}'))
	}
	if c.Env.Draining.Load() {
		return c.JSON(http.StatusServiceUnavailable, []byte(`{"status":"draining","reason":"The server is stopping."}`))
	}
	if err := h.health.ask(c.Context()); err != nil {
		return c.JSON(http.StatusServiceUnavailable,
			append(ejson.AppendString([]byte(`{"status":"unavailable","reason":`), unhealthy(err)), '}'))
	}
	if len(c.Env.Store.Damaged()) > 0 { // still 200: the undamaged part works
		return c.JSON(http.StatusOK, []byte(`{"status":"ok","seeds":{},"reason":"Files of the store are damaged: `+
			`some documents cannot be read. The log names the files."}`))
	}
	return c.JSON(http.StatusOK, []byte(`{"status":"ok","seeds":{}}`))
}
