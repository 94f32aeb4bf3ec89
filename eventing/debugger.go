package eventing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// An event that a debug session has caught is stored as a timer that is due when the session ends at
// the latest: in the transaction that moves the checkpoint past it. When the session lets it go the
// timer becomes due, or when its process is gone and another one divides the partitions anew. So the event
// is handled once, whatever becomes of the session, of the process or of its partitions.

// heldCallback is the callback of such timers. No function has that name.
const heldCallback = "(debugger)"

// isHeld reports whether the item is an event that a debug session has let go.
func (it *item) isHeld() bool { return it.due != nil && it.due.Callback == heldCallback }

// wantedBy reads which event a session catches.
func wantedBy(d *registry.Debugging) (debug.Wanted, error) {
	return debug.ParseWanted(d.Request, selectorOf)
}

// StartDebugger begins a debug session of a deployed function, which catches the next event that the
// request asks for, whichever process has it: all of them look for it when this returns.
func (e *Engine) StartDebugger(ctx context.Context, r *registry.Record, request []byte) *definition.Error {
	if len(request) == 0 {
		request = []byte("{}")
	}
	d := &registry.Debugging{
		Ref: r.Ref(), Instance: r.Instance, ID: rand.Text(), Secret: rand.Text(), Request: request,
	}
	w, err := wantedBy(d)
	if err != nil {
		return definition.AsError(err)
	}
	if r.State != definition.Deployed {
		return definition.Errorf(definition.CodeNotDeployed, "Function: %s is not deployed", r.Ref())
	}
	d.Ends = time.Now().Add(w.Time)
	changes, err := e.registry.BeginDebugging(ctx, d, debug.Most, func(id nodes.ID) bool {
		return !alive(id, ids(e.members.Known()))
	})
	if err == nil {
		err = followDebugging(ctx, e)
	}
	if err == nil {
		err = e.members.AwaitSeen(ctx, nodes.Functions, changes)
	}
	if err != nil {
		return definition.AsError(err)
	}
	return nil
}

// followDebugging takes over the debug sessions of the store.
func followDebugging(ctx context.Context, e *Engine) error {
	all, changes, err := e.registry.Debugging(ctx)
	if err == nil {
		e.debugging.Follow(e.ctx, all, changes, e.members.Self(), wantedBy)
	}
	return err
}

// Debugging are the debug sessions that this process knows.
func (e *Engine) Debugging() *debug.Sessions { return e.debugging }

// trap gives the debug session that waits for the event of an item, nil if none does. matches is asked
// whether a selector matches.
func (f *function) trap(
	it *item, id string, matches func(*selector.Selector) (bool, error),
) (*debug.Session, error) {
	s := f.engine.debugging.Of(f.ref)
	if s == nil || s.Instance != f.instance {
		return nil, nil
	}
	kind := debug.Update
	switch {
	case it.timer != nil:
		kind = debug.Timer
	case it.expired:
		kind = debug.Expiry
	case it.event.Kind == js.EventDelete:
		kind = debug.Delete
	}
	ok, err := s.Claim(kind, id, func() (bool, error) { return matches(s.Selector) })
	if !ok {
		return nil, err
	}
	return s, err
}

// trapTimer has the session of the item, which is a timer, if one waits for it.
func (f *function) trapTimer(it *item) (err error) {
	it.session, err = f.trap(it, it.timer.Reference, func(s *selector.Selector) (bool, error) {
		if s == nil {
			return true, nil
		}
		text, err := json.Marshal(heldTimer(it.timer))
		if err != nil {
			return false, err
		}
		v, err := ejson.Parse(text)
		if err != nil {
			return false, err
		}
		return s.Match(v)
	})
	return err
}

func heldTimer(t *timers.Timer) *debug.HeldTimer {
	return &debug.HeldTimer{Callback: t.Callback, Reference: t.Reference, Due: t.Due, Context: t.Context}
}

// rearm has a debug session of the function wait for another event, if the one that it has chosen was
// not stored before the function's run ended.
func (f *function) rearm() {
	if s := f.engine.debugging.Of(f.ref); s != nil {
		s.Rearm()
	}
}

// errNotHeld is the error of a batch with an event that a debug session was to hold back, and the
// session is over or another process was faster: the event is handled as others are.
type errNotHeld struct{ item *item }

// Error implements error.
func (errNotHeld) Error() string { return "eventing: the debug session takes no event any more" }

// take notes in a transaction which debug sessions have their events now.
func (f *function) take(tx kv.Tx, items []*item) error {
	for _, it := range items {
		if it.session == nil {
			continue
		}
		err := registry.TakeDebugging(tx, f.ref, it.session.ID, f.engine.members.Self(), it.session.Event())
		if errors.Is(err, registry.ErrChanged) {
			err = errNotHeld{it}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hold is the result of an event that is held back for a debug session: the timer.
func (it *item) hold() *js.EventResult {
	h := debug.HeldEvent{
		ID: it.id, Rev: it.rev.String(), Hops: it.hops, Deleted: it.event.Kind == js.EventDelete,
		Expired: it.expired, Meta: it.event.Meta,
	}
	if it.timer != nil {
		h = debug.HeldEvent{Timer: heldTimer(it.timer)}
	}
	context, _ := json.Marshal(h) // it has nothing that cannot be JSON
	return &js.EventResult{Outcome: js.EventDone, Effects: []js.EventEffect{{
		Kind: js.EffectCreateTimer, Callback: heldCallback, Reference: it.session.ID, Due: it.session.Ends.UnixMilli(),
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
			f.log.Say("the debugger cannot run the handler: " + err.Error())
		}
		s.Finish()
		if err := f.letGo(s, it); err != nil {
			f.log.Say("an event is handled when the time of its debug session is over: " + err.Error())
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
	g.stats, g.log, g.maxRetries = newStatistics(), f.engine.logs.Apart(f.ref), 0
	h := g.newHolding()
	defer h.forget()
	it := &item{
		event: held.event, timer: held.timer, id: held.id, rev: held.rev, seq: held.seq, partition: held.partition,
		hops: held.hops, expired: held.expired,
	}
	b := g.newBatch([]*item{it}, h)
	b.ctx = s.Context()
	if err := b.lookAtOwner(b.ctx); err != nil {
		return err
	}
	defer b.queries.closeAll()
	program := g.program.Debugged(time.Until(s.Ends))
	return f.engine.debuggers().RunEvents(b.ctx, program, []js.Event{it.event}, &debugHost{batch: b, session: s},
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
	name, list := timers.Name{Callback: heldCallback, Reference: s.ID}, f.space.timers()
	ctx := kv.UseReserve(context.WithoutCancel(f.engine.ctx))
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	now := f.engine.now().UnixMilli()
	there := false
	_, err := f.engine.o.KV.Update(ctx, func(tx kv.Tx) (err error) {
		if err := registry.EndDebuggingIn(tx, f.ref, s.ID); err != nil {
			return err
		}
		if there, err = list.Has(tx, name); err != nil || !there {
			return err
		}
		if s.Dropped() {
			_, err := list.Clear(tx, name)
			return err
		}
		t := timers.Timer{Name: name, Partition: it.partition, Due: now, Context: it.hold().Effects[0].Context}
		return list.Set(tx, &t)
	})
	if err != nil || !there || s.Dropped() {
		return err
	}
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	if run := f.engine.running[f.ref]; run != nil && run.f != nil && run.f.instance == f.instance {
		run.f.alarm.Set(it.partition, now)
	}
	return nil
}

// freeHeld lets an event go, in the transaction that divides the partitions, that a process has caught for a
// debug session and that is gone: its timer becomes due. It becomes one of this process, if the partition is
// not, so that nobody has to be told.
func freeHeld(tx kv.Tx, f *function, p *progress, members []nodes.Member) error {
	self := f.engine.members.Self()
	mine := p.mine(self)
	d, err := registry.DebuggingIn(tx, f.ref)
	if err != nil || d == nil || d.Instance != f.instance || d.Node == (nodes.ID{}) || len(mine) == 0 ||
		alive(d.Node, ids(members)) {
		return err
	}
	if gone, err := f.gone(tx, d.Node); err != nil || !gone {
		return err
	}
	if err := registry.EndDebuggingIn(tx, f.ref, d.ID); err != nil {
		return err
	}
	t, err := f.space.timers().Find(tx, timers.Name{Callback: heldCallback, Reference: d.ID})
	if err != nil || t == nil {
		return err
	}
	if t.Due = f.engine.now().UnixMilli(); p.owners[t.Partition] != self {
		t.Partition = mine[0]
	}
	return f.space.timers().Set(tx, t)
}

// released makes the event of a timer that held it back. If its document has changed since it is left
// out: the later change has an event of its own, as a feed has only the last change of a document.
func (f *function) released(ctx context.Context, t *timers.Timer) (*item, error) {
	it := &item{due: t, partition: t.Partition, event: js.Event{Kind: js.EventUpdate}}
	var h debug.HeldEvent
	err := json.Unmarshal(t.Context, &h)
	if err == nil && h.Timer != nil {
		it.timer = &timers.Timer{
			Name:      timers.Name{Callback: h.Timer.Callback, Reference: h.Timer.Reference},
			Partition: t.Partition, Due: h.Timer.Due, Nonce: t.Nonce, Context: h.Timer.Context,
		}
		it.event = js.Event{Kind: js.EventTimer, Callback: h.Timer.Callback, Context: h.Timer.Context}
		return it, nil
	}
	if err == nil {
		it.id = h.ID
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
	db, err := openSource(ctx, f, owner)
	if err != nil {
		return nil, err
	}
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
