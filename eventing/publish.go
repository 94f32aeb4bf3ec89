package eventing

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// What handlers publish is stored in the function's outbox in the transaction of their batch
// (package outbox), and delivered from there (deliver.go).

// outbox is where the messages of an instance are.
func (s space) outbox() outbox.Box { return outbox.Below(s.sub(tagOutbox)) }

// mail is what the handlers of a batch have published.
type mail struct {
	messages []*outbox.Message
	posted   int64 // bytes that they take of the outbox
}

// publish adds a message to those of a batch. It is false, and the item has failed, if the function
// is being undeployed, since messages would go with it, or if no program could have sent the message:
// then the worker process was taken over.
func publish(b *batch, it *item, e *js.EventEffect) bool {
	refuse := func(why string) bool {
		b.f.fail(it, "EventingError", why)
		b.forged = true
		return false
	}
	if it.event.Kind == js.EventUndeploy {
		return refuse("OnUndeploy cannot publish: messages go with the function")
	}
	m, err := messageOf(b.f, e)
	if err != nil {
		return refuse(err.Error())
	}
	now := b.f.engine.now()
	m.ID, m.Published = outbox.NewID(now, uint16(b.f.engine.posted.Add(1))), now.UnixMilli()
	m.Partition, m.Hops = it.partition, it.hops+1
	m.Key = cmp.Or(e.Reference, m.ID)
	size, err := m.Size()
	if err != nil {
		return refuse(err.Error())
	}
	b.messages, b.posted = append(b.messages, m), b.posted+size
	b.size += len(m.Body)
	return true
}

// messageOf reads what a worker process says of a message.
func messageOf(f *function, e *js.EventEffect) (*outbox.Message, error) {
	if _, _, bound := destinationOf(f, e.Callback); !bound {
		return nil, errors.New("a message to what is not bound")
	}
	return outbox.Parse(e.Callback, e.Context)
}

// destinationOf is what a name in the code stands for that messages may go to: the number of a URL, or
// a database that the function may write.
func destinationOf(f *function, name string) (url int, database string, bound bool) {
	for i, c := range f.record.Running().Bindings.Curl {
		if c.Value == name {
			return i, "", true
		}
	}
	for i := range f.bindings {
		if f.bindings[i].Alias == name && f.bindings[i].Writable {
			return -1, f.bindings[i].Database, true
		}
	}
	return -1, "", false
}

// outboxLimit is how many bytes the messages and dead letters of a function may have.
func outboxLimit(f *function) int64 { return f.settings.OutboxSize << 20 }

// errOutboxFull is the error of a batch whose messages have no room in the outbox.
var errOutboxFull = errors.New("eventing: the outbox of the function is full")

// post stores the messages of the batch in its transaction. The size of the outbox is read without a
// conflict, since each delivery changes it; batches of a process that publish are stored one after
// the other, so that only those of other processes can come in between.
func (m *mail) post(f *function, tx kv.Tx) error {
	if len(m.messages) == 0 {
		return nil
	}
	box := f.space.outbox()
	sizes, err := box.Sizes(tx.Snapshot())
	if err != nil {
		return err
	}
	if sizes.Bytes+m.posted > outboxLimit(f) {
		return errOutboxFull
	}
	for _, message := range m.messages {
		if err := box.Put(tx, message); err != nil {
			return err
		}
	}
	return nil
}

// settle counts the messages of a batch that was stored, and wakes the courier.
func (m *mail) settle(f *function) {
	if len(m.messages) == 0 {
		return
	}
	f.stats.count(messagesPublished, int64(len(m.messages)))
	for _, message := range m.messages {
		f.mail.Set(message.Partition, message.Published)
	}
}

// overfills reports whether a batch could not be stored because its messages alone are more than an
// outbox has room for.
func (m *mail) overfills(f *function, err error) bool {
	return errors.Is(err, errOutboxFull) && m.posted > outboxLimit(f)
}

// awaitRoom waits until a batch's messages have room in the outbox, and tells once that it does. The
// batch runs again then.
func (m *mail) awaitRoom(ctx context.Context, f *function) error {
	told := false
	for {
		sizes, err := outboxOf(ctx, f.engine, f.instance)
		if err != nil || sizes.Bytes+m.posted <= outboxLimit(f) {
			return err
		}
		if !told {
			told = true
			f.log.Say("the outbox is full (outbox_size): events wait until messages are delivered or dead letters deleted")
			f.engine.o.Log.Warn("eventing: the outbox of a function is full, its events wait",
				"function", f.ref.String(), "messages", sizes.Waiting, "dead_letters", sizes.DeadLetters)
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// outboxOf tells how much is in the outbox of an instance.
func outboxOf(ctx context.Context, e *Engine, instance int64) (sizes outbox.Sizes, err error) {
	err = kv.ViewAgain(ctx, e.o.KV, func(tx kv.ReadTx) error {
		sizes, err = spaceOf(instance).outbox().Sizes(tx)
		return err
	})
	return sizes, err
}
