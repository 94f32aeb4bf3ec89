package format

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
)

// Program is what a program knows of formats.
type Program struct {
	Oldest, Newest byte // that it reads and writes
	// Reader and Writer are the oldest formats that a program must know to read and to write a store of format Newest;
	// 0: Newest itself.
	Reader, Writer byte
}

// This is what this program knows. A format that older programs can read has a Reader below it.
var This = Program{Oldest: 7, Newest: 7}

// Head is what a store says of itself.
type Head struct {
	Format         byte
	UUID           [16]byte
	Reader, Writer byte // the oldest formats that programs must know to read and to write it
}

const (
	shortHead = 1 + 16
	longHead  = shortHead + 2
)

// encode makes the value of the head. The short form is what programs know that are older than this package.
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

// check tells why the program must not read the store, or not write it: kv.ErrFormat.
func (p Program) check(h Head, write bool) error {
	needed, what := h.Reader, "reading"
	if write {
		needed, what = h.Writer, "writing"
	}
	switch {
	case h.Format < p.Oldest:
		return fmt.Errorf("%w: it is of format %d, this program knows %d to %d", kv.ErrFormat, h.Format, p.Oldest,
			p.Newest)
	case needed > p.Newest:
		return fmt.Errorf("%w: it is of format %d, %s it needs a program that knows format %d, this one knows %d to %d",
			kv.ErrFormat, h.Format, what, needed, p.Oldest, p.Newest)
	}
	return nil
}

// raised is the head of a store that the program has made one of its newest format.
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

// Open reads the head of a store that the program is to write, or makes one of its newest format. The error is
// kv.ErrFormat if it must not.
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

// Read reads the head of a store without a program's eyes.
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

// Finalise raises a store to the newest format that the program knows. From the commit on programs that do not know it
// are refused; before, the store is as it was.
func Finalise(ctx context.Context, store kv.Store, key []byte, p Program) (before, after Head, err error) {
	_, err = store.Update(ctx, func(tx kv.Tx) error {
		value, err := tx.Get(key)
		if err != nil {
			return err
		}
		if before, err = parse(value); err != nil {
			return err
		}
		if err := p.check(before, true); err != nil {
			return err
		}
		if after = before; before.Format < p.Newest {
			after = p.raised(before.UUID)
			tx.Set(key, after.encode())
		}
		return nil
	})
	return before, after, err
}
