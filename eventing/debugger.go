package eventing

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// An event that a debug session has caught is stored as a timer that is due when the session ends at
// the latest: in the transaction that moves the checkpoint past it. When the session lets it go the
// timer becomes due. So the event is handled once, whatever becomes of the session, of the process or of
// its partitions.

// heldCallback is the callback of such timers. No function has that name.
const heldCallback = "(debugger)"

// heldEvent is the context of such a timer.
type heldEvent struct {
	Rev     string          `json:"rev"`
	Hops    uint64          `json:"hops,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
	Expired bool            `json:"expired,omitempty"`
	Meta    json.RawMessage `json:"meta"`
}

// isHeld reports whether the item is an event that a debug session has let go.
func (it *item) isHeld() bool { return it.timer != nil && it.timer.callback == heldCallback }

// DebugRequest is what a client may say of a session that it begins.
type DebugRequest struct {
	ID       string          `json:"id"`       // of the document; empty: any
	Selector json.RawMessage `json:"selector"` // that the document matches
	Timeout  int64           `json:"timeout"`  // seconds that the session lasts at most; 0: debug.UsualTime
}

// StartDebugger begins a debug session of a deployed function, which catches the next event that the
// request asks for and that is this process's.
func (e *Engine) StartDebugger(r *registry.Record, request []byte) *definition.Error {
	var q DebugRequest
	if len(request) > 0 {
		if err := json.Unmarshal(request, &q); err != nil {
			return definition.Errorf(definition.CodeInvalidRequest, "the request cannot be read: %v", err)
		}
	}
	if q.Timeout < 0 || q.Timeout > int64(debug.MostTime/time.Second) {
		return definition.Errorf(definition.CodeInvalidRequest, "timeout must be from 1 to %d seconds",
			int64(debug.MostTime/time.Second))
	}
	o := debug.Options{Ref: r.Ref(), Instance: r.Instance, ID: q.ID, Time: debug.UsualTime}
	if q.Timeout > 0 {
		o.Time = time.Duration(q.Timeout) * time.Second
	}
	var err error
	if o.Selector, err = selectorOf(q.Selector); err != nil {
		return definition.AsError(err)
	}
	if r.State != definition.Deployed {
		return definition.Errorf(definition.CodeNotDeployed, "Function: %s is not deployed", r.Ref())
	}
	_, failed := e.debugging.Start(e.ctx, o)
	return failed
}

// Debugging are the debug sessions of this process.
func (e *Engine) Debugging() *debug.Sessions { return e.debugging }

// trap reports whether the event of a row is the one that a debug session waits for.
func (f *function) trap(ch *row, doc *docread.Document, id string) (*debug.Session, error) {
	s := f.engine.debugging.Of(f.ref)
	if s == nil || s.Instance != f.instance {
		return nil, nil
	}
	ok, err := s.Claim(id, func() (bool, error) { return selects(s.Selector, ch, doc) })
	if !ok {
		return nil, err
	}
	return s, err
}

// rearm has a debug session of the function wait for another event, if the one that it has chosen was
// not stored before the function's run ended.
func (f *function) rearm() {
	if s := f.engine.debugging.Of(f.ref); s != nil {
		s.Rearm()
	}
}

// hold is the result of an event that is held back for a debug session: the timer.
func (it *item) hold() *js.EventResult {
	// It has nothing that cannot be JSON.
	context, _ := json.Marshal(heldEvent{
		Rev: it.rev.String(), Hops: it.hops, Deleted: it.event.Kind == js.EventDelete, Expired: it.expired,
		Meta: it.event.Meta,
	})
	return &js.EventResult{Outcome: js.EventDone, Effects: []js.EventEffect{{
		Kind: js.EffectCreateTimer, Callback: heldCallback, Reference: it.id, Due: it.session.Ends.UnixMilli(),
		Context: context,
	}}}
}

// debugged runs the handler of an event that is held back under the debugger, and lets the event go
// when that is over. It returns at once.
func (f *function) debugged(it *item) {
	s := it.session
	s.Catch()
	f.engine.watching.Go(func() {
		if err := f.underDebugger(s, it); err != nil && s.Context().Err() == nil {
			f.log.say("the debugger cannot run the handler: " + err.Error())
		}
		s.Finish()
		if err := f.letGo(s, it); err != nil {
			f.log.say("the event of " + it.id + " is handled when the time of its debug session is over: " + err.Error())
		}
	})
}

// underDebugger runs the handler of an event without effects: what it writes, its timers and its
// requests to other servers come to nothing, and its statistics and log are nobody's.
func (f *function) underDebugger(s *debug.Session, held *item) error {
	g, err := f.engine.prepare(f.record)
	if err != nil {
		return err
	}
	defer g.close()
	g.stats, g.log, g.maxRetries = newStatistics(), &appLog{in: &f.engine.logs, ref: f.ref}, 0
	h := g.newHolding()
	defer h.forget()
	it := &item{
		event: held.event, id: held.id, rev: held.rev, seq: held.seq, partition: held.partition, hops: held.hops,
		expired: held.expired,
	}
	b := g.newBatch([]*item{it}, h)
	b.ctx = s.Context()
	if err := b.lookAtOwner(b.ctx); err != nil {
		return err
	}
	defer b.queries.closeAll()
	program := g.program.Debugged(time.Until(s.Ends))
	return f.engine.debuggers().RunEvents(b.ctx, program, []js.Event{it.event}, debugHost{b, s},
		func(i int, r *js.EventResult) error { return nil })
}

// debuggers is the pool for handlers under the debugger.
func (e *Engine) debuggers() *js.Pool {
	if e.o.Debuggers != nil {
		return e.o.Debuggers
	}
	return e.o.JS
}

// letGo makes an event that was held back due, or removes it if it is to be thrown away. The timer is
// not there any more if the function was undeployed, or another process has handled it.
func (f *function) letGo(s *debug.Session, it *item) error {
	name := timerName{heldCallback, it.id}
	ctx := kv.UseReserve(context.WithoutCancel(f.engine.ctx))
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	now := f.engine.now().UnixMilli()
	there := false
	_, err := f.engine.o.KV.Update(ctx, func(tx kv.Tx) (err error) {
		if there, err = hasTimer(tx, f.space, name); err != nil || !there {
			return err
		}
		if s.Dropped() {
			_, err := clearTimer(tx, f.space, name)
			return err
		}
		t := timer{timerName: name, partition: it.partition, due: now, context: it.hold().Effects[0].Context}
		return t.set(tx, f.space)
	})
	if err != nil || !there || s.Dropped() {
		return err
	}
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	if run := f.engine.running[f.ref]; run != nil && run.f != nil && run.f.instance == f.instance {
		run.f.alarm.set(it.partition, now)
	}
	return nil
}

// released makes the event of a timer that held it back. If its document has changed since it is left
// out: the later change has an event of its own, as a feed has only the last change of a document.
func (f *function) released(ctx context.Context, t *timer) (*item, error) {
	it := &item{timer: t, partition: t.partition, id: t.reference, event: js.Event{Kind: js.EventUpdate}}
	var h heldEvent
	err := json.Unmarshal(t.context, &h)
	if err == nil {
		it.rev, err = compat.ParseRev(h.Rev)
	}
	if err != nil {
		return nil, corrupt("event that was held back")
	}
	it.hops, it.expired, it.event.Meta = h.Hops, h.Expired, h.Meta
	if h.Deleted {
		it.event.Kind, it.event.Options = js.EventDelete, notExpired
		if h.Expired {
			it.event.Options = hasExpired
		}
	}
	owner, err := f.principal(ctx)
	if err != nil {
		return nil, err
	}
	db := f.engine.docs.Database(f.source, owner, documents.Origin{})
	var doc *docread.Document
	err = db.Bare().ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
		doc, err = s.Open(it.id, docread.OpenOptions{Deleted: true})
		return err
	})
	if err == nil && db.Hides() {
		err = db.Show(ctx, doc)
	}
	if _, refused := compat.AsError(err); err != nil && !refused {
		return nil, err
	}
	if it.skipped = err != nil || doc.Rev != it.rev; !it.skipped && !h.Deleted {
		it.event.Doc = doc.Body
	}
	it.size = len(it.event.Doc) + len(it.event.Meta)
	return it, nil
}

// debugHost is what a handler under the debugger gets at: what others do, but for requests to other
// servers.
type debugHost struct {
	*batch
	session *debug.Session
}

// Curl implements js.EventHost: no request is made, and the response is empty.
func (debugHost) Curl(context.Context, js.EventRequest) (js.EventResponse, error) {
	return js.EventResponse{Status: http.StatusOK}, nil
}

// Debug implements js.EventDebugger.
func (h debugHost) Debug(ctx context.Context, out [][]byte, wait bool) ([][]byte, error) {
	in, err := h.session.Exchange(ctx, out, wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(h.session.Context())
	}
	return in, err
}
