package registry

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
)

// Debugging is a debug session of a deployed function as all processes on the store know it: each
// looks for the event that it waits for, and one of them takes one. It is never changed: a change
// stores another one.
type Debugging struct {
	Ref      definition.Ref  `json:"ref"`
	Instance int64           `json:"instance"`
	ID       string          `json:"id"`      // of the session, by which two of one function differ
	Secret   string          `json:"secret"`  // with which addresses for clients are made
	Request  json.RawMessage `json:"request"` // which event it waits for; the engine reads it
	Ends     time.Time       `json:"ends"`    // at the latest
	// Node is the process that has taken an event, the zero ID before that.
	Node nodes.ID `json:"node"`
	// Event is what that was: of a document its id, of a timer its reference.
	Event string `json:"event"`
}

// over reports whether a session has ended, as far as its own record tells.
func (d *Debugging) over(now time.Time) bool { return !now.Before(d.Ends) }

func debuggingKey(ref definition.Ref) []byte { return refKey(keyDebugging, ref) }

// BeginDebugging begins a session. Those that are over do not count, nor those of which gone says
// that their process has ended. The error is one for clients if the function has a session already,
// or the store has most of them. ErrChanged: the instance is not deployed any more.
func (g *Registry) BeginDebugging(
	ctx context.Context, d *Debugging, most int, gone func(nodes.ID) bool,
) (changes uint64, err error) {
	_, err = g.store.Update(ctx, func(tx kv.Tx) error {
		r, err := read(tx, d.Ref)
		if err == nil && (r == nil || r.Instance != d.Instance || r.State != definition.Deployed) {
			err = ErrChanged
		}
		if err != nil {
			return err
		}
		all, err := readDebugging(tx)
		if err != nil {
			return err
		}
		live := slices.DeleteFunc(all, func(o *Debugging) bool {
			return o.over(g.now()) || o.Node != (nodes.ID{}) && gone(o.Node)
		})
		for _, o := range live {
			if o.Ref == d.Ref {
				return definition.Errorf(definition.CodeInvalidRequest, "Function: %s is being debugged already", d.Ref)
			}
		}
		if len(live) >= most {
			return definition.Errorf(definition.CodeInvalidRequest, "There are %d debug sessions already", most)
		}
		if changes, err = readCount(tx, ChangesKey()); err != nil {
			return err
		}
		changes++
		noteChange(tx)
		return d.set(tx)
	})
	return changes, err
}

func (d *Debugging) set(tx kv.Tx) error {
	text, err := json.Marshal(d)
	if err == nil {
		tx.Set(debuggingKey(d.Ref), text)
	}
	return err
}

// Debugging gives all sessions that are not over, and the count of changes that they belong to.
func (g *Registry) Debugging(ctx context.Context) (all []*Debugging, changes uint64, err error) {
	err = kv.ViewAgain(ctx, g.store, func(tx kv.ReadTx) error {
		if changes, err = readCount(tx, ChangesKey()); err != nil {
			return err
		}
		all, err = readDebugging(tx)
		return err
	})
	all = slices.DeleteFunc(all, func(d *Debugging) bool { return d.over(g.now()) })
	return all, changes, err
}

// TakeDebugging notes, in the transaction that takes an event out of the others, that a process has
// caught it for a session. ErrChanged: the session is over, or has an event already.
func TakeDebugging(tx kv.Tx, ref definition.Ref, id string, node nodes.ID, event string) error {
	d, err := DebuggingIn(tx, ref)
	switch {
	case err != nil:
		return err
	case d == nil || d.ID != id || d.Node != (nodes.ID{}):
		return ErrChanged
	}
	d.Node, d.Event = node, event
	noteChange(tx)
	return d.set(tx)
}

// EndDebugging removes a session, if it is still that one. With waiting it has to have no event yet;
// the error is ErrChanged otherwise.
func (g *Registry) EndDebugging(ctx context.Context, ref definition.Ref, id string, waiting bool) error {
	_, err := g.store.Update(ctx, func(tx kv.Tx) error {
		d, err := DebuggingIn(tx, ref)
		if err == nil && waiting && d != nil && d.ID == id && d.Node != (nodes.ID{}) {
			err = ErrChanged
		}
		if err != nil {
			return err
		}
		return EndDebuggingIn(tx, ref, id)
	})
	return err
}

// EndDebuggingIn removes a session as a part of a transaction, if it is still that one.
func EndDebuggingIn(tx kv.Tx, ref definition.Ref, id string) error {
	d, err := DebuggingIn(tx, ref)
	if err != nil || d == nil || d.ID != id {
		return err
	}
	tx.Clear(debuggingKey(ref))
	noteChange(tx)
	return nil
}

// DebuggingIn reads the session of a function in a transaction, nil if there is none. One that is over may be
// there still.
func DebuggingIn(tx kv.ReadTx, ref definition.Ref) (*Debugging, error) {
	text, err := tx.Get(debuggingKey(ref))
	if err != nil || text == nil {
		return nil, err
	}
	return parseDebugging(debuggingKey(ref), text)
}

func parseDebugging(k, text []byte) (*Debugging, error) {
	d := new(Debugging)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, corrupt("debug session", err)
	}
	if string(debuggingKey(d.Ref)) != string(k) {
		return nil, corrupt("debug session, which is of "+d.Ref.String(), nil)
	}
	return d, nil
}

func readDebugging(tx kv.ReadTx) (all []*Debugging, err error) {
	begin, end := children(key(keyDebugging))
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		d, err := parseDebugging(it.Key(), it.Value())
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, it.Err()
}
