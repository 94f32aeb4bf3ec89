package format

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
)

// Program says which formats a version of the program can read and write.
type Program struct {
	Oldest, Newest byte // the formats that it reads and writes
	// Reader and Writer are the oldest formats that a program must know to read and to write a
	// store of format Newest; 0: Newest itself.
	Reader, Writer byte
	// Steps bring stores of older formats up to Newest; see Finalise.
	Steps *[]Step
}

// Step rewrites those keys and values of a store of format From that look different in the format
// after it.
type Step struct {
	From byte
	// Run rewrites one part of the store, beginning at cursor, and returns the cursor of the next
	// part. The cursor is nil at the beginning and nil again at the end. Each call is one
	// transaction of the store, with its limits of size and time, and may be run again.
	Run func(tx kv.Tx, cursor []byte) (next []byte, err error)
	// Back undoes Run in the same way, for Lower; nil: there is no way back to From. It may leave
	// nothing that programs of From do not know.
	Back func(tx kv.Tx, cursor []byte) (next []byte, err error)
	// InUse says what a part of the store has that From has no place for, in words for an
	// administrator ("database x keeps a history"), with cursors as Run has them. Where it is
	// silent Back loses nothing. nil: From has a place for everything.
	InUse func(tx kv.ReadTx, cursor []byte) (what []string, next []byte, err error)
}

// This is what this program knows. A format that older programs can read has a Reader below it.
var This = Program{Oldest: 7, Newest: 7}

// Head is the stored record of a store's identity and format, under one key.
type Head struct {
	Format         byte
	UUID           [16]byte
	Reader, Writer byte // the oldest formats that programs must know to read and to write it
}

const (
	shortHead = 1 + 16
	longHead  = shortHead + 2
)

// encode makes the value of the head. Programs that are older than this package understand only the
// short form.
func (h Head) encode() []byte {
	b := append([]byte{h.Format}, h.UUID[:]...)
	if h.Reader != h.Format || h.Writer != h.Format {
		b = append(b, h.Reader, h.Writer)
	}
	return b
}

// parse reads the value of a head. The error is kv.ErrCorrupt.
func parse(b []byte) (h Head, err error) {
	if len(b) != shortHead && len(b) != longHead {
		return h, fmt.Errorf("format: the head of the store has %d bytes: %w", len(b), kv.ErrCorrupt)
	}
	h = Head{Format: b[0], UUID: [16]byte(b[1:]), Reader: b[0], Writer: b[0]}
	if len(b) == longHead {
		h.Reader, h.Writer = b[shortHead], b[shortHead+1]
	}
	return h, nil
}

// check tells why the program must not read the store, or not write it: kv.ErrFormat. Between the
// pieces of a step some of it is of one format and some of the next one, which nobody reads but the
// step.
func (p Program) check(h Head, write bool) error {
	if err := p.knows(h, write); err != nil {
		return err
	}
	if h.Reader > h.Format {
		return fmt.Errorf("%w: it is rewritten in part, between the formats %d and %d; what was stopped goes on: "+
			"settee upgrade --finalise, or settee downgrade", kv.ErrFormat, h.Format, h.Reader)
	}
	return nil
}

// knows returns kv.ErrFormat, with the reason, where the program cannot use the store.
func (p Program) knows(h Head, write bool) error {
	needed, what := h.Reader, "reading"
	if write {
		needed, what = h.Writer, "writing"
	}
	switch {
	case h.Format < p.Oldest:
		return fmt.Errorf("%w: it is of format %d, this program knows %d to %d; serve it with the version that wrote "+
			"it, and copy it to a server of this one: settee migrate OLD_URL --to NEW_URL",
			kv.ErrFormat, h.Format, p.Oldest, p.Newest)
	case needed > p.Newest:
		return fmt.Errorf("%w: it is of format %d, %s it needs a program that knows format %d, this one knows %d to %d",
			kv.ErrFormat, h.Format, what, needed, p.Oldest, p.Newest)
	}
	return nil
}

// raised is the head that a store has when it was raised to the program's newest format.
func (p Program) raised(uuid [16]byte) Head {
	h := Head{Format: p.Newest, UUID: uuid, Reader: p.Reader, Writer: p.Writer}
	if h.Reader == 0 {
		h.Reader = p.Newest
	}
	if h.Writer == 0 {
		h.Writer = p.Newest
	}
	return h
}

// Open reads the head of a store that the program is to write, or makes one of its newest format.
// The error is kv.ErrFormat if the program must not write it.
func Open(ctx context.Context, store kv.Store, key []byte, p Program) (h Head, err error) {
	_, err = store.Update(ctx, func(tx kv.Tx) error {
		value, err := tx.Get(key)
		if err != nil {
			return err
		}
		if value == nil {
			var uuid [16]byte
			_, _ = rand.Read(uuid[:]) // it never fails
			h = p.raised(uuid)
			tx.Set(key, h.encode())
			return nil
		}
		if h, err = parse(value); err != nil {
			return err
		}
		return p.check(h, true)
	})
	return h, err
}

// Read reads the head of a store without checking whether this program may use the store: for tools
// that only show it.
func Read(ctx context.Context, store kv.Store, key []byte) (h Head, err error) {
	err = store.View(ctx, func(tx kv.ReadTx) error {
		value, err := tx.Get(key)
		if err == nil {
			h, err = parse(value)
		}
		return err
	})
	return h, err
}

// Finalise raises a store to the newest format that the program knows. First come the program's
// steps, each a number of transactions that note how far it has come: one that was killed goes on
// from there, at the next call. After the last of a step the store is of the format after it;
// between the first and the last nobody can open it. A way back (Lower) that was stopped before it
// changed anything is given up; one that has begun to rewrite is kv.ErrFormat. progress, if not
// nil, is told the format and the pieces done of it. From the commit that raises the format on
// programs that do not know it are refused. While steps run nobody else may write the store.
func Finalise(
	ctx context.Context,
	store kv.Store,
	key []byte,
	p Program,
	progress func(from byte, pieces int),
) (before, after Head, err error) {
	if _, err = store.Update(ctx, func(tx kv.Tx) error { return reopen(tx, key) }); err != nil {
		return before, before, err
	}
	if before, err = Read(ctx, store, key); err != nil {
		return before, before, err
	}
	if p.Steps != nil {
		for _, step := range *p.Steps {
			if err := step.take(ctx, store, key, p, progress); err != nil {
				return before, before, err
			}
		}
	}
	_, err = store.Update(ctx, func(tx kv.Tx) error {
		h, err := p.read(tx, key)
		if err == nil {
			err = p.check(h, true)
		}
		if after = h; err == nil && h.Format < p.Newest {
			after = p.raised(h.UUID)
			tx.Set(key, after.encode())
		}
		return err
	})
	return before, after, err
}

// read reads the head of a store that the program is to write.
func (p Program) read(tx kv.ReadTx, key []byte) (h Head, err error) {
	value, err := tx.Get(key)
	if err == nil {
		h, err = parse(value)
	}
	if err == nil {
		err = p.knows(h, true)
	}
	return h, err
}

// take does the step, if the store is of its format.
func (s *Step) take(
	ctx context.Context,
	store kv.Store,
	key []byte,
	p Program,
	progress func(from byte, pieces int),
) error {
	at := cursorKey(key)
	for pieces := 1; ; pieces++ {
		more := false
		_, err := store.Update(ctx, func(tx kv.Tx) error {
			h, err := p.read(tx, key)
			if more = err == nil && h.Format == s.From; !more {
				return err
			}
			cursor, err := tx.Get(at)
			if err != nil {
				return err
			}
			next, err := s.Run(tx, bytes.Clone(cursor))
			if err != nil {
				return err
			}
			if next != nil {
				tx.Set(at, next)
				tx.Set(key, between(s.From, h.UUID).encode())
				return nil
			}
			tx.Clear(at)
			tx.Set(key, Head{Format: s.From + 1, UUID: h.UUID, Reader: s.From + 1, Writer: s.From + 1}.encode())
			return nil
		})
		if err != nil || !more {
			return err
		}
		if progress != nil {
			progress(s.From, pieces)
		}
	}
}
