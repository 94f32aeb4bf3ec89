package eventing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/js"
)

// debugHost is what a handler under the debugger gets at: what others do, but for requests to other
// servers. It notes for the session what the handler does.
type debugHost struct {
	*batch
	session *debug.Session
	noted   int // of the batch's effects: those of statements come between those that the worker flushes
}

// Get implements js.EventHost.
func (h *debugHost) Get(ctx context.Context, binding int, id string) (js.EventDoc, error) {
	doc, err := h.batch.Get(ctx, binding, id)
	if err == nil {
		r := debug.Read{Database: h.f.bindings[binding].Database, ID: id, Found: doc.Exists}
		h.session.Note(len(id), func(e *debug.Effects) { e.Reads = append(e.Reads, r) })
	}
	return doc, err
}

// Query implements js.EventHost.
func (h *debugHost) Query(ctx context.Context, q js.EventQuery) (handle uint64, changed bool, err error) {
	if !q.Check {
		h.session.Note(len(q.Text), func(e *debug.Effects) { e.Statements = append(e.Statements, q.Text) })
	}
	return h.batch.Query(ctx, q)
}

func (h *debugHost) note(e *js.EventEffect) {
	size := int(effectSize(e)) + len(e.Callback)
	switch e.Kind {
	case js.EffectSet, js.EffectDelete:
		w := debug.Write{Database: e.Database, ID: e.ID, Deleted: e.Kind == js.EffectDelete, Doc: e.Body}
		h.session.Note(size, func(all *debug.Effects) { all.Writes = append(all.Writes, w) })
	case js.EffectCreateTimer, js.EffectCancelTimer:
		t := debug.TimerOp{Callback: e.Callback, Reference: e.Reference, Context: e.Context}
		if t.Cancelled = e.Kind == js.EffectCancelTimer; !t.Cancelled {
			t.Due = time.UnixMilli(e.Due).UTC().Format(time.RFC3339Nano)
		}
		h.session.Note(size, func(all *debug.Effects) { all.Timers = append(all.Timers, t) })
	case js.EffectPublish:
		// One that cannot be read is told where the handler ends: its event fails (publish).
		if m, err := messageOf(h.f, e); err == nil {
			m.Key = e.Reference
			h.session.Note(size, func(all *debug.Effects) { all.Published = append(all.Published, m.Show()) })
		}
	}
}

// Curl implements js.EventHost: no request is made, and the response is empty.
func (h *debugHost) Curl(_ context.Context, r js.EventRequest) (js.EventResponse, error) {
	bindings := h.f.record.Running().Bindings.Curl
	if r.Binding < 0 || r.Binding >= len(bindings) {
		return js.EventResponse{}, errForged
	}
	noted := debug.Request{Binding: bindings[r.Binding].Value, Method: r.Method, Path: r.Path, Body: string(r.Body)}
	h.session.Note(len(r.Path)+len(r.Body), func(e *debug.Effects) { e.Requests = append(e.Requests, noted) })
	return js.EventResponse{Status: http.StatusOK}, nil
}

// Debug implements js.EventDebugger.
func (h *debugHost) Debug(ctx context.Context, out [][]byte, logged []string, wait bool) ([][]byte, error) {
	for ; h.noted < len(h.effects); h.noted++ {
		h.note(&h.effects[h.noted])
	}
	for _, line := range logged {
		h.session.Note(len(line), func(e *debug.Effects) { e.Log = append(e.Log, line) })
	}
	in, err := h.session.Exchange(ctx, out, wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(h.session.Context())
	}
	return in, err
}
