package eventing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/applog"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/sweeper"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/kv"
)

// Rehearsal runs one function event by event, on a clock that stands still until it is told to go
// on. It reads, runs, stores and fires with what deployed functions have, only one thing after the
// other: when a method returns, all is done that there was to do. It is used by one goroutine.
type Rehearsal struct {
	e        *Engine
	f        *function
	r        *reader
	consumer *feed.Consumer
	since    storage.Seq
	now      time.Time
	left     int // events, timers and deliveries that the method may handle still

	published []outbox.Shown
}

// mostRehearsed bounds the events and timers of one method: functions may go on without end.
const mostRehearsed = 10_000

// Rehearse deploys a function in a store that has no other, at a time. No Engine runs there, and
// o.Now is not used. The error says also why the function cannot be deployed, OnDeploy included.
func Rehearse(
	ctx context.Context, o Options, docs *documents.Store, d *definition.Function, at time.Time,
) (*Rehearsal, error) {
	h := &Rehearsal{now: at}
	o.Now = func() time.Time { return h.now }
	h.e = New(o)
	h.e.docs, h.e.rehearsed = docs, true
	h.e.sources[d.Bindings.SourceBucket] = 1
	close(h.e.looked)
	d = d.Clone()
	d.Settings.WorkerCount = 1 // for all partitions
	compiled, wrong := h.e.Compile(ctx, d)
	if wrong != nil {
		return nil, wrong
	}
	r, err := h.e.registry.Put(ctx, d, nil)
	if err != nil {
		return nil, err
	}
	owner := registry.Principal{Name: "test", Roles: []string{"_admin"}}
	r, err = h.e.registry.Deploy(ctx, r, owner, compiled.Queries)
	for err == nil && !r.State.Settled() {
		err = h.e.step(ctx, func(kv.Tx) error { return nil }, r)
		if err == nil || errors.Is(err, registry.ErrChanged) { // by OnDeploy, with its effects
			r, err = h.e.registry.Get(ctx, d.Ref())
		}
	}
	if err != nil {
		return nil, err
	}
	if r.State != definition.Deployed {
		lines, err := h.Log(ctx)
		return nil, errors.Join(err, errors.New(lines[len(lines)-1].Text))
	}
	return h, h.begin(ctx, r)
}

// begin takes the partitions of the deployed function, as its run does.
func (h *Rehearsal) begin(ctx context.Context, r *registry.Record) (err error) {
	if h.f, err = h.e.prepare(r); err != nil {
		return err
	}
	owner, err := h.f.principal(ctx)
	if err != nil {
		return err
	}
	db, err := openSource(ctx, h.f, owner)
	if err != nil {
		return err
	}
	p, err := h.f.share(ctx, db)
	if err != nil {
		return err
	}
	h.r = newReader(h.f, db, p)
	h.since = h.r.since
	h.consumer = h.e.streams.Join(db.Bare(), h.r.streamKey(), h.since)
	return nil
}

// Close ends the rehearsal; the store stays as it is.
func (h *Rehearsal) Close() {
	h.consumer.Leave()
	h.f.close()
	h.e.cancel()
}

// Settle has the function handle what has changed, and what is due, until there is nothing more.
func (h *Rehearsal) Settle(ctx context.Context) error {
	h.left = mostRehearsed
	return h.settle(ctx)
}

// Advance has the clock go on. It stops whenever a timer or a document's time is due.
func (h *Rehearsal) Advance(ctx context.Context, by time.Duration) error {
	h.left = mostRehearsed
	for end := h.now.Add(by); ; {
		next, err := h.next(ctx)
		if err != nil {
			return err
		}
		if next > end.UnixMilli() {
			h.now = end
			return h.settle(ctx)
		}
		h.now = time.UnixMilli(next).UTC()
		if err := h.settle(ctx); err != nil {
			return err
		}
	}
}

// next is when something is due, in milliseconds since 1970; never for nothing.
func (h *Rehearsal) next(ctx context.Context) (int64, error) {
	_, nexts, err := h.timers(ctx, -1)
	if err != nil {
		return 0, err
	}
	_, next, err := expiry.Expire(ctx, h.e.o.KV, h.e.o.Store, h.now.UnixMilli(), 0, nil)
	if next != 0 {
		nexts = append(nexts, next)
	}
	if err == nil {
		err = kv.ViewAgain(ctx, h.e.o.KV, func(tx kv.ReadTx) error {
			nexts, err = h.f.space.outbox().AppendNext(nexts, tx, h.r.mine)
			return err
		})
	}
	return slices.Min(nexts), err
}

// timers reads the timers that are due at a time, and when each partition has its next one.
func (h *Rehearsal) timers(ctx context.Context, at int64) (list []timers.Timer, nexts []int64, err error) {
	err = kv.ViewAgain(ctx, h.e.o.KV, func(tx kv.ReadTx) error {
		list, nexts, err = h.f.space.timers().Due(tx, h.r.mine, at, mostRehearsed, nil)
		return err
	})
	return list, nexts, err
}

func (h *Rehearsal) settle(ctx context.Context) error {
	for {
		events, err := h.events(ctx)
		if err != nil {
			return err
		}
		due, err := h.due(ctx)
		if err != nil {
			return err
		}
		sent, err := h.deliver(ctx)
		if due += sent; err != nil || events+due == 0 {
			return err
		}
		if h.left -= events + due; h.left < 0 {
			return fmt.Errorf("the function has handled %d events and timers and does not come to rest", mostRehearsed)
		}
	}
}

// events has the next changes of the source handled; seen are those, with what is no event.
func (h *Rehearsal) events(ctx context.Context) (seen int, err error) {
	h.consumer.News()
	p, err := h.consumer.Next(ctx, h.since, feed.SegmentBytes)
	if err != nil {
		return 0, err
	}
	c, err := h.r.chunk(ctx, &p)
	if err != nil {
		return 0, err
	}
	if c.end != (storage.Seq{}) {
		h.since = c.end
	}
	return len(p.Rows), h.f.process(ctx, c.items, h.r.workers[0])
}

// due fires the timers that are due, and deletes the documents that are.
func (h *Rehearsal) due(ctx context.Context) (done int, err error) {
	list, _, err := h.timers(ctx, h.now.UnixMilli())
	if err != nil {
		return 0, err
	}
	items, err := h.f.firing(ctx, list, h.now)
	if err == nil {
		err = h.f.process(ctx, items, timerCheckpoint{h.f})
	}
	if err != nil {
		return 0, err
	}
	done, _, err = expiry.Expire(
		ctx, h.e.o.KV, h.e.o.Store, h.now.UnixMilli(), sweeper.Batch, sweeperOf(h.e, nil).Expired)
	return len(items) + done, err
}

// deliver makes an attempt with each message that is due, in the order in which they were published.
func (h *Rehearsal) deliver(ctx context.Context) (done int, err error) {
	var due []outbox.Waiting
	err = kv.ViewAgain(ctx, h.e.o.KV, func(tx kv.ReadTx) error {
		due = nil
		for _, p := range h.r.mine {
			list, _, _, err := h.f.space.outbox().Due(tx, p, h.now.UnixMilli(),
				func(string) int { return mostRehearsed }, func(string) bool { return false })
			if err != nil {
				return err
			}
			due = append(due, list...)
		}
		return nil
	})
	sort.Slice(due, func(i, j int) bool { return due[i].ID < due[j].ID })
	for _, w := range due {
		if w.Attempts == 0 {
			err = errors.Join(err, h.note(ctx, w.ID))
		}
		if err == nil {
			_, err = sender{h.f}.deliver(ctx, w)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(due), err
}

// note keeps a message as one that was published.
func (h *Rehearsal) note(ctx context.Context, id string) error {
	return kv.ViewAgain(ctx, h.e.o.KV, func(tx kv.ReadTx) error {
		m, err := h.f.space.outbox().Message(tx, id)
		if err != nil || m == nil {
			return err
		}
		shown := m.Show()
		if shown.Headers["Content-Type"] == "application/json" { // as most have
			delete(shown.Headers, "Content-Type")
		}
		h.published = append(h.published, shown)
		return nil
	})
}

// Published are the messages that the function has published so far, as JSON.
func (h *Rehearsal) Published() any { return append([]outbox.Shown{}, h.published...) }

// DeadLetters are the messages that could not be delivered, as JSON.
func (h *Rehearsal) DeadLetters(ctx context.Context) (list any, err error) {
	err = kv.ViewAgain(ctx, h.e.o.KV, func(tx kv.ReadTx) error {
		list, err = h.f.space.outbox().ShowDead(tx, mostRehearsed)
		return err
	})
	return list, err
}

// Expire deletes a document as if its time had come.
func (h *Rehearsal) Expire(ctx context.Context, database, id string) error {
	gone := &compat.Document{ID: id, HasID: true, Deleted: true, Body: documents.EmptyBody()}
	return h.e.o.Store.Commit(ctx, &storage.Commit{Databases: []storage.DatabaseCommit{{
		DB: h.e.o.Store.DB(database), Edits: []storage.Edit{{Doc: gone, Over: true}},
		Stored: sweeperOf(h.e, nil).Expired,
	}}})
}

// RehearsedTimer is a timer that is not due yet; Context is JSON.
type RehearsedTimer struct {
	Callback  string          `json:"callback"`
	Reference string          `json:"reference"`
	Due       time.Time       `json:"due"`
	Context   json.RawMessage `json:"context,omitempty"`
}

// Timers are those that the function has set, in the order in which they are due.
func (h *Rehearsal) Timers(ctx context.Context) ([]RehearsedTimer, error) {
	all, _, err := h.timers(ctx, never-1)
	list := []RehearsedTimer{}
	for i := range all {
		t := &all[i]
		list = append(list, RehearsedTimer{t.Callback, t.Reference, time.UnixMilli(t.Due).UTC(), t.Context})
	}
	return list, err
}

// RehearsedLine is a line of the function's log; the Level of what a handler threw is ERROR.
type RehearsedLine struct{ Level, Text string }

// Log is what the function has logged, oldest line first.
func (h *Rehearsal) Log(ctx context.Context) (lines []RehearsedLine, err error) {
	all, _, err := h.e.registry.List(ctx)
	if err != nil {
		return nil, err
	}
	text, err := h.e.AppLog(ctx, all[0], true, applog.MaxSize)
	for line := range bytes.Lines(text) {
		var l RehearsedLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	slices.Reverse(lines)
	return lines, err
}

// answering has requests of a binding answered by Options.Answer.
type answering struct {
	binding string
	answer  func(binding string, r *http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a.answer(a.binding, r) }
