package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/settee-db/settee/storage/kv"
)

// ErrInUse is the error of Lower where the store has what the format before cannot hold; its text
// names that.
var ErrInUse = errors.New("format: what is new is in use")

// maxInUse is how many things are named that are in the way; who has cleared them away asks again.
const maxInUse = 20

// lowering is the stored record of a way back that has begun. It is there as long as the head says
// that nobody may open the store.
//
//	value = phase, length of the head as it was, that head, cursor
type lowering struct {
	phase  byte
	was    []byte // the value of the head when the store was whole
	cursor []byte // nil at the beginning
}

const (
	looking   = 0 // nothing has been changed: what is in the way is looked for
	rewriting = 1
)

func (l lowering) encode() []byte {
	b := append([]byte{l.phase, byte(len(l.was))}, l.was...)
	return append(b, l.cursor...)
}

// parseLowering reads the record. The error is kv.ErrCorrupt.
func parseLowering(b []byte) (l lowering, err error) {
	if len(b) < 2 || b[0] > rewriting || len(b) < 2+int(b[1]) {
		return l, fmt.Errorf("format: the record of a way back has %d bytes: %w", len(b), kv.ErrCorrupt)
	}
	l.phase, l.was = b[0], bytes.Clone(b[2:2+int(b[1])])
	if rest := b[2+len(l.was):]; len(rest) > 0 {
		l.cursor = bytes.Clone(rest)
	}
	return l, nil
}

func cursorKey(key []byte) []byte   { return append(bytes.Clone(key), 1) }
func loweringKey(key []byte) []byte { return append(bytes.Clone(key), 2) }

// back is the step that leads back to the format before h's.
func (p Program) back(h Head) (*Step, error) {
	if p.Steps != nil {
		for i := range *p.Steps {
			if s := &(*p.Steps)[i]; s.From+1 == h.Format && s.Back != nil {
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: from format %d there is no way back; settee backup URL and settee restore URL, with "+
		"the other version, move its databases", kv.ErrFormat, h.Format)
}

// InUse names what stands in the way of Lower, without changing anything, and the format that
// Lower leads to. The error is kv.ErrFormat where there is no way back from the store's format, or
// where a rewriting of it has not come to its end.
func InUse(ctx context.Context, store kv.Store, key []byte, p Program) (to byte, what []string, err error) {
	h, err := Read(ctx, store, key)
	if err == nil {
		err = p.check(h, true)
	}
	if err != nil {
		return 0, nil, err
	}
	s, err := p.back(h)
	if err != nil {
		return 0, nil, err
	}
	what, err = s.inUse(ctx, store)
	return s.From, what, err
}

// inUse asks the step part by part what is in the way; the list ends at maxInUse.
func (s *Step) inUse(ctx context.Context, store kv.Store) (what []string, err error) {
	if s.InUse == nil {
		return nil, nil
	}
	for cursor := []byte(nil); len(what) < maxInUse; {
		var more []string
		var next []byte
		err = store.View(ctx, func(tx kv.ReadTx) (err error) {
			more, next, err = s.InUse(tx, cursor)
			next = bytes.Clone(next)
			return err
		})
		if what = append(what, more...); err != nil || next == nil {
			break
		}
		cursor = next
	}
	return what[:min(len(what), maxInUse)], err
}

// Lower brings a store back to the format before its own: the reverse of one step of Finalise,
// with the same promises. It closes the store first, so that nobody writes what is new any more,
// then looks for what the format before cannot hold; where there is any the store is opened again
// as it was, and the error is ErrInUse. Then the step's Back rewrites part by part. Killed at any
// point it goes on at the next call; until it is done nobody can open the store. The format before
// is that of its own programs: none that is older still may read it. progress is told the format
// that Lower leads to and the pieces that are rewritten; it may be nil. While it runs nobody else
// may write the store.
func Lower(
	ctx context.Context,
	store kv.Store,
	key []byte,
	p Program,
	progress func(to byte, pieces int),
) (before, after Head, err error) {
	s, l, err := p.close(ctx, store, key)
	if err != nil {
		return before, before, err
	}
	if before, err = parse(l.was); err != nil {
		return before, before, err
	}
	if l.phase == looking {
		what, err := s.inUse(ctx, store)
		if err != nil {
			return before, before, err
		}
		if len(what) > 0 {
			_, err = store.Update(ctx, func(tx kv.Tx) error { return reopen(tx, key) })
			inUse := fmt.Errorf("%w, and format %d has no place for it: %s", ErrInUse, s.From, strings.Join(what, "; "))
			return before, before, errors.Join(inUse, err)
		}
	}
	after = Head{Format: s.From, UUID: before.UUID, Reader: s.From, Writer: s.From}
	for pieces, more := 1, true; more; pieces++ {
		_, err := store.Update(ctx, func(tx kv.Tx) error {
			value, err := tx.Get(loweringKey(key))
			if err != nil {
				return err
			}
			if more = value != nil; !more { // another call has brought it to its end
				return nil
			}
			l, err := parseLowering(value)
			if err != nil {
				return err
			}
			l.phase = rewriting
			if l.cursor, err = s.Back(tx, l.cursor); err != nil {
				return err
			}
			if more = l.cursor != nil; more {
				tx.Set(loweringKey(key), l.encode())
				return nil
			}
			tx.Clear(loweringKey(key))
			tx.Set(key, after.encode())
			return nil
		})
		if err != nil {
			return before, before, err
		}
		if progress != nil {
			progress(s.From, pieces)
		}
	}
	return before, after, nil
}

// close takes the store from all programs for a way back, unless that has been done, and finds the
// step.
func (p Program) close(ctx context.Context, store kv.Store, key []byte) (s *Step, l lowering, err error) {
	_, err = store.Update(ctx, func(tx kv.Tx) error {
		value, err := tx.Get(loweringKey(key))
		if err != nil {
			return err
		}
		if value != nil {
			if l, err = parseLowering(value); err != nil {
				return err
			}
			var was Head
			if was, err = parse(l.was); err == nil {
				s, err = p.back(was)
			}
			return err
		}
		h, err := p.read(tx, key)
		if err == nil {
			err = p.check(h, true) // one that Finalise has rewritten in part is not whole
		}
		if err == nil {
			s, err = p.back(h)
		}
		if err != nil {
			return err
		}
		l = lowering{phase: looking, was: h.encode()}
		tx.Set(loweringKey(key), l.encode())
		tx.Set(key, between(s.From, h.UUID).encode())
		return nil
	})
	return s, l, err
}

// reopen undoes close where nothing has been rewritten. The error is kv.ErrFormat where something
// has.
func reopen(tx kv.Tx, key []byte) error {
	value, err := tx.Get(loweringKey(key))
	if err != nil || value == nil {
		return err
	}
	l, err := parseLowering(value)
	if err == nil && l.phase == rewriting {
		err = fmt.Errorf("%w: a part of it has been brought back to the format before; settee downgrade goes on",
			kv.ErrFormat)
	}
	if err != nil {
		return err
	}
	tx.Clear(loweringKey(key))
	tx.Set(key, l.was)
	return nil
}

// between is the head of a store of which some is of format from and some of the one after it: it
// asks of readers more than its own format, so that no program opens it.
func between(from byte, uuid [16]byte) Head {
	return Head{Format: from, UUID: uuid, Reader: from + 1, Writer: from + 1}
}
