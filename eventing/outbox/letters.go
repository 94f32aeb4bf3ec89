package outbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// Shown is a message as people see it: its value as JSON, as a text, or in base64.
type Shown struct {
	Destination string            `json:"destination"`
	ID          string            `json:"id,omitempty"` // that the handler has given
	Headers     map[string]string `json:"headers,omitempty"`
	Value       json.RawMessage   `json:"value"`
}

// Show makes of a message what people see.
func (m *Message) Show() Shown {
	s := Shown{Destination: m.Destination, Headers: make(map[string]string), Value: m.Body}
	if m.Key != m.ID {
		s.ID = m.Key
	}
	for _, h := range m.Headers {
		s.Headers[h[0]] = h[1]
	}
	if !json.Valid(m.Body) {
		text := string(m.Body)
		if s.Headers["Content-Type"] == "application/octet-stream" {
			text = base64.StdEncoding.EncodeToString(m.Body)
		}
		s.Value, _ = json.Marshal(text) // a text always can be
	}
	return s
}

// ShownDead is a dead letter as tests of functions expect it: its message without headers.
type ShownDead struct {
	Shown

	Attempts int `json:"attempts"`
	Status   int `json:"status,omitempty"`
}

// ShowDead reads all dead letters, most of them at most, in the order in which they were published.
func (b Box) ShowDead(tx kv.ReadTx, most int) ([]ShownDead, error) {
	list := []ShownDead{}
	letters, _, err := b.DeadLetters(tx, "", "", most, most)
	for i := range letters {
		m, wrong := b.Message(tx, letters[i].ID)
		if wrong != nil || m == nil {
			return nil, wrong
		}
		shown := m.Show()
		shown.Headers = nil
		list = append(list, ShownDead{shown, letters[i].Attempts, letters[i].Status})
	}
	return list, err
}

// Letter is a dead letter as people see it: a message that could not be delivered. Key, Headers and
// Value are those of the message; they are not in lists.
type Letter struct {
	ID          string            `json:"id"`
	Destination string            `json:"destination"`
	Published   time.Time         `json:"published"`
	Failed      time.Time         `json:"failed"` // the last attempt
	Attempts    int               `json:"attempts"`
	Status      int               `json:"status"` // of the last answer, 0 if there was none
	Error       string            `json:"error"`
	Bytes       int64             `json:"bytes"`
	Key         string            `json:"key,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Value       json.RawMessage   `json:"value,omitempty"`
}

func letterOf(d *DeadLetter) Letter {
	return Letter{
		ID: d.ID, Destination: d.Destination, Published: time.UnixMilli(d.Published).UTC(),
		Failed: time.UnixMilli(d.Failed).UTC(), Attempts: d.Attempts, Status: d.Status, Error: d.Error, Bytes: d.Bytes,
	}
}

// Letters are a part of the dead letters of a function. Next is the id to go on behind, empty at the
// end.
type Letters struct {
	Sizes

	Letters []Letter `json:"letters"`
	Next    string   `json:"next,omitempty"`
}

// lettersLooked is how many dead letters are looked at in a transaction.
const lettersLooked = 1000

// List lists the dead letters of an outbox behind an id, most of them at most: those of one
// destination, or of all if it is empty, in the order in which they were published.
func List(
	ctx context.Context, store kv.Store, b Box, behind, destination string, most int,
) (all Letters, err error) {
	err = kv.ViewAgain(ctx, store, func(tx kv.ReadTx) error {
		all = Letters{Letters: []Letter{}}
		if all.Sizes, err = b.Sizes(tx); err != nil {
			return err
		}
		list, next, err := b.DeadLetters(tx, behind, destination, most, lettersLooked)
		for i := range list {
			all.Letters = append(all.Letters, letterOf(&list[i]))
		}
		all.Next = next
		return err
	})
	return all, err
}

// Read gives a dead letter with its message; nil if there is none of that id.
func Read(ctx context.Context, store kv.Store, b Box, id string) (letter *Letter, err error) {
	err = kv.ViewAgain(ctx, store, func(tx kv.ReadTx) error {
		letter = nil
		d, err := b.DeadLetter(tx, id)
		if err != nil || d == nil {
			return err
		}
		m, err := b.Message(tx, id)
		if err != nil || m == nil {
			return err
		}
		l, shown := letterOf(d), m.Show()
		l.Key, l.Headers, l.Value = m.Key, shown.Headers, shown.Value
		letter = &l
		return nil
	})
	return letter, err
}

// changedAtOnce is how many dead letters are replayed or deleted in a transaction.
const changedAtOnce = 100

// Choice is which dead letters are meant: those of some ids, or where these are nil those of a
// destination, or all if it is empty.
type Choice struct {
	IDs         []string
	Destination string
}

// Change replays or deletes dead letters, a hundred in a transaction, and tells how many there were.
// It goes through them in the order of their ids, so that one that fails again meanwhile has been
// passed. replay is called in each transaction that replays some; it is nil to delete them. replayed
// is told of them when they are stored.
func Change(
	ctx context.Context, store kv.Store, b Box, which Choice, now int64,
	replay func(tx kv.Tx), replayed func([]*Waiting),
) (changed int, err error) {
	ctx = kv.UseReserve(ctx)
	for part := range slices.Chunk(which.IDs, changedAtOnce) {
		n, err := b.change(ctx, store, part, now, replay, replayed)
		if changed += n; err != nil {
			return changed, err
		}
	}
	for behind, more := "", which.IDs == nil; more; {
		list, err := List(ctx, store, b, behind, which.Destination, changedAtOnce)
		if err != nil {
			return changed, err
		}
		part := make([]string, len(list.Letters))
		for i := range list.Letters {
			part[i] = list.Letters[i].ID
		}
		n, err := b.change(ctx, store, part, now, replay, replayed)
		if changed += n; err != nil {
			return changed, err
		}
		behind, more = list.Next, list.Next != ""
	}
	return changed, nil
}

// change is Change for some ids, in one transaction.
func (b Box) change(
	ctx context.Context, store kv.Store, ids []string, now int64, replay func(tx kv.Tx), replayed func([]*Waiting),
) (changed int, err error) {
	var due []*Waiting
	_, err = store.Update(ctx, func(tx kv.Tx) error {
		changed, due = 0, nil
		for _, id := range ids {
			there := false
			if replay == nil {
				if there, err = b.Delete(tx, id); err != nil {
					return err
				}
			} else {
				w, err := b.Replay(tx, id, now)
				if err != nil {
					return err
				}
				if there = w != nil; there {
					due = append(due, w)
				}
			}
			if there {
				changed++
			}
		}
		if len(due) > 0 {
			replay(tx)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(due) > 0 {
		replayed(due)
	}
	return changed, nil
}
