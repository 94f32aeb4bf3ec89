package eventing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
)

const (
	// deliveryTime is how long a server may take to accept a message.
	deliveryTime = 30 * time.Second
	// leastRetry and mostRetry are how long a message waits after an attempt that has failed: twice
	// as long each time. A random part of up to a half is taken off, so that messages which have
	// failed together do not come together again.
	leastRetry, mostRetry = time.Second, time.Hour
)

// sender delivers the messages of a function.
type sender struct{ f *function }

// courier makes the courier of some partitions, which has their messages delivered when they are
// due.
func (s sender) courier(among []int) *outbox.Courier {
	return outbox.NewCourier(outbox.Work{
		KV: s.f.engine.o.KV, Box: s.f.space.outbox(), Alarm: &s.f.mail, Among: among, Now: s.f.engine.now,
		Concurrency: int(s.f.settings.PublishConcurrency), Deliver: s.deliver, Busy: &s.f.delivering,
	})
}

// refusal is why a message was not accepted. With final it would not be at any other time.
type refusal struct {
	outbox.Failure
	final bool
	after time.Duration // for which the receiver asks to wait
}

// errNotWaiting is the error of a delivery whose message does not wait any more: somebody else has
// delivered it.
var errNotWaiting = errors.New("eventing: the message does not wait any more")

// deliver makes an attempt to deliver a message and stores what comes of it. A process that ends
// before that is stored leaves the message as it was, so that it is delivered again. again is when it
// is to be tried the next time, never if it is not. The error is of the function's run.
func (s sender) deliver(ctx context.Context, w outbox.Waiting) (again int64, err error) {
	h := s.f.newHolding()
	defer h.forget()
	if err := h.await(ctx, 2*w.Bytes); err != nil {
		return never, err
	}
	var m *outbox.Message
	err = kv.ViewAgain(ctx, s.f.engine.o.KV, func(tx kv.ReadTx) (err error) {
		m, err = s.f.space.outbox().Message(tx, w.ID)
		return err
	})
	if err != nil || m == nil {
		return never, err
	}
	owner := &ownerView{f: s.f, holding: h, dbs: make(map[string]*documents.Database)}
	if err := owner.lookAtOwner(ctx); err != nil {
		return never, err
	}
	url, database, bound := destinationOf(s.f, w.Destination)
	var no *refusal
	switch {
	case !bound:
		no = &refusal{final: true}
		no.Error = "the function has no such destination any more"
	case url >= 0:
		no = s.send(ctx, url, m)
	default:
		no, err = s.store(ctx, owner, database, w, m)
		if errors.Is(err, errNotWaiting) || no == nil && err == nil {
			return never, s.delivered(err)
		}
	}
	if err == nil && no != nil {
		err = ctx.Err() // a request that was broken off is no attempt
	}
	if err != nil {
		return never, err
	}
	return s.conclude(ctx, w, m, no)
}

// send posts a message to a URL; nil: it was accepted. Answers of 4xx are final, but for those that
// ask to come again.
func (s sender) send(ctx context.Context, url int, m *outbox.Message) *refusal {
	ctx, span := s.f.engine.o.Tracer.Root(ctx, "function message")
	span.String(tracing.Function, s.f.ref.String())
	defer span.End(nil)
	ctx, cancel := context.WithTimeout(ctx, s.f.engine.deliverIn)
	defer cancel()
	headers := append([][2]string{{"Idempotency-Key", m.Key}}, m.Headers...)
	r := s.f.urls[url].Send(ctx, headers, m.Body)
	if r.Status >= 200 && r.Status < 300 {
		return nil
	}
	span.Fail()
	no := &refusal{final: finalStatus(r.Status), after: min(r.After, mostRetry)}
	no.Status, no.Error = r.Status, r.Text
	return no
}

// finalStatus reports whether a receiver that answers so would answer so again.
func finalStatus(status int) bool {
	return status >= 400 && status < 500 && status != 408 && status != 409 && status != 429
}

// store writes a message as a document, over whatever is there, and takes it out of the outbox in the
// same transaction. The refusal is nil if that was done.
func (s sender) store(
	ctx context.Context, owner *ownerView, database string, w outbox.Waiting, m *outbox.Message,
) (*refusal, error) {
	d, err := owner.database(ctx, database)
	if err == nil {
		var edit storage.Edit
		key := docKey{database, m.Key}
		edit, err = newEditParser().edit(ctx, d, key, &docState{written: true, after: m.Body})
		if err == nil {
			part := documents.CommitPart{Database: d, Edits: []storage.Edit{edit}, Stored: s.marking(m)}
			err = s.f.engine.docs.Commit(ctx, func(tx kv.Tx) error {
				return s.takeMessage(tx, w, s.f.space.outbox().Delivered)
			}, []documents.CommitPart{part})
		}
	}
	var found *storage.CommitError
	if errors.As(err, &found) && len(found.Refused) > 0 {
		err = found.Refused[0].Err
	}
	no := &refusal{}
	refused, isRefused := compat.AsError(err)
	switch {
	case isRefused:
		no.Status, no.Error, no.final = refused.Status(), refused.Reason, finalStatus(refused.Status())
	case errors.As(err, &found), errors.Is(err, kv.ErrFull):
		no.Error = err.Error()
	case tooLarge(err):
		no.Error, no.final = err.Error(), true
	default:
		return nil, err
	}
	return no, nil
}

// marking marks the revision that a message has made as the function's, where functions see it.
func (s sender) marking(m *outbox.Message) func(*storage.Tx, []storage.EditResult) error {
	return func(x *storage.Tx, results []storage.EditResult) error {
		if x.Name() != s.f.source && !s.f.engine.isSource(x.Name()) {
			return nil
		}
		for i := range results {
			if rev := results[i].Rev; !rev.IsZero() {
				feed.Origin{Instance: s.f.instance, Hops: m.Hops}.Set(x, results[i].ID, rev)
			}
		}
		return nil
	}
}

// takeMessage changes where a message stands, if it stands there still and its partition is this
// process's.
func (s sender) takeMessage(
	tx kv.Tx, w outbox.Waiting, change func(kv.Tx, outbox.Waiting) (bool, error),
) error {
	if err := holds(tx, s.f.space, s.f.engine.members.Self(), []int{w.Partition}); err != nil {
		return err
	}
	there, err := change(tx, w)
	if err == nil && !there {
		err = errNotWaiting
	}
	return err
}

// delivered counts a message that was delivered, unless somebody else has.
func (s sender) delivered(err error) error {
	if errors.Is(err, errNotWaiting) {
		return nil
	}
	if err == nil {
		s.f.stats.count(messagesDelivered, 1)
	}
	return err
}

// conclude stores what has come of an attempt: the message is delivered (no is nil), tried again
// later, or a dead letter. It is stored in a full store, too, and when ctx has ended.
func (s sender) conclude(
	ctx context.Context, w outbox.Waiting, m *outbox.Message, no *refusal,
) (again int64, err error) {
	ctx, cancel := context.WithTimeout(kv.UseReserve(context.WithoutCancel(ctx)), releaseTime)
	defer cancel()
	box, now := s.f.space.outbox(), s.f.engine.now()
	change := box.Delivered
	due, dead := int64(0), false
	if no != nil {
		ends := w.Since + s.f.settings.PublishMaxAge*1000
		due = now.Add(max(no.after, retryPause(s.f.engine, w.Attempts+1))).UnixMilli()
		dead = no.final || int64(w.Attempts)+1 >= s.f.settings.PublishAttempts || now.UnixMilli() >= ends
		due = min(due, ends)
		change = func(tx kv.Tx, w outbox.Waiting) (bool, error) {
			if dead {
				return box.Fail(tx, w, m, now.UnixMilli(), no.Failure)
			}
			return box.Retry(tx, w, due)
		}
	}
	_, err = s.f.engine.o.KV.Update(ctx, func(tx kv.Tx) error { return s.takeMessage(tx, w, change) })
	switch {
	case errors.Is(err, errNotWaiting):
	case err != nil || no == nil:
		return never, s.delivered(err)
	case dead:
		s.f.stats.count(messagesDead, 1)
		s.f.log.Say(fmt.Sprintf("the message %s to %s is a dead letter after %d attempts: %d %s",
			w.ID, w.Destination, w.Attempts+1, no.Status, no.Error))
	default:
		s.f.stats.count(messagesRetried, 1)
		return due, nil
	}
	return never, nil
}

// retryPause is how long a message waits after so many attempts.
func retryPause(e *Engine, attempts int) time.Duration {
	wait := pause(attempts, e.retryAfter, mostRetry)
	if e.rehearsed {
		return wait
	}
	return wait - rand.N(wait/2)
}
