package again

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Lack says that some number of bytes of some memory was not enough to index a document. The zero
// Lack: it did not fail for want of memory.
type Lack struct {
	Of    byte
	Bytes int64
}

// The kinds of memory: the bound on a document's terms in this process, and the memory of a
// JavaScript worker.
const (
	Terms  byte = 1
	Worker byte = 2
)

// Encode is the value of a note.
func (l Lack) Encode() []byte { return binary.AppendUvarint([]byte{l.Of}, uint64(l.Bytes)) }

// parse reads a note. A kind of memory that only a newer program has is ignored: this process
// cannot have more of it.
func parse(b []byte) (l Lack, err error) {
	p := packed.Reader{B: b}
	l = Lack{p.Byte(), int64(p.Uvarint())}
	if !p.Done() || l.Of == 0 || l.Bytes < 0 {
		return Lack{}, fmt.Errorf("again: malformed note of memory: %w", kv.ErrCorrupt)
	}
	return l, nil
}

// Key is the key of a document's note, below the prefix of the notes of an index.
func Key(notes []byte, id string) []byte {
	return tuple.AppendString(notes[:len(notes):len(notes)], id)
}

// Documents are those of an index that have a note.
type Documents struct {
	DB    *storage.DB
	Notes []byte // the prefix of the notes
	// Memory is how many bytes of a kind of memory there are in this process; 0: it has none of it.
	Memory func(of byte) int64
	// Index indexes a document anew, unless it has changed. An error says that the failure was not
	// the document's fault, so that the next process tries it again.
	Index func(ctx context.Context, id string) error
	// Moved is the error of Index after which all begins anew, since the index has changed.
	Moved error
	Log   *slog.Logger // the logger, with the index's name
}

// Try tries each document that lacked memory where this process has more. The error is that of the
// store or of ctx, or Moved.
func (d *Documents) Try(ctx context.Context) error {
	for after := ""; ; {
		id, before, err := d.next(ctx, after)
		if err != nil || id == "" {
			return err
		}
		after = id
		noted, err := d.note(ctx, id, Lack{before.Of, d.Memory(before.Of)})
		if err != nil {
			return err
		}
		if !noted {
			continue // it has changed
		}
		if err = d.Index(ctx, id); err == nil {
			continue
		}
		_, undone := d.note(context.WithoutCancel(ctx), id, before)
		if errors.Is(err, d.Moved) || ctx.Err() != nil {
			return errors.Join(err, undone)
		}
		if d.Log != nil {
			d.Log.Warn("a document was not tried again", "document", id, "error", errors.Join(err, undone))
		}
	}
}

// next finds the next document, after an id, that had less memory than there is now; "" if there is
// none.
func (d *Documents) next(ctx context.Context, after string) (id string, l Lack, err error) {
	err = d.DB.ViewAgain(ctx, func(s *storage.Snapshot) error {
		id, l, err = d.in(s, after)
		return err
	})
	return id, l, err
}

// Any tells whether there is a document to be tried.
func (d *Documents) Any(s *storage.Snapshot) (bool, error) {
	id, _, err := d.in(s, "")
	return id != "", err
}

// in is next in a snapshot.
func (d *Documents) in(s *storage.Snapshot, after string) (id string, l Lack, err error) {
	begin, end := d.Notes, append(d.Notes[:len(d.Notes):len(d.Notes)], 0xff)
	if after != "" {
		begin = kv.AppendKeyAfter(nil, Key(d.Notes, after))
	}
	it := s.KV().Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		if l, err = parse(it.Value()); err != nil {
			return "", l, err
		}
		if l.Bytes >= d.Memory(l.Of) {
			continue
		}
		if id, _, err = tuple.ReadString(it.Key()[len(d.Notes):]); err != nil {
			return "", l, fmt.Errorf("again: malformed key: %w", kv.ErrCorrupt)
		}
		return id, l, nil
	}
	return "", l, it.Err()
}

// note notes that a document is tried with so much memory; false if it does not lack any now.
func (d *Documents) note(ctx context.Context, id string, l Lack) (noted bool, err error) {
	key := Key(d.Notes, id)
	err = d.DB.Transact(ctx, func(tx *storage.Tx) error {
		value, err := tx.KV().Get(key)
		if noted = value != nil; noted && err == nil {
			tx.KV().Set(key, l.Encode())
		}
		return err
	})
	return noted, err
}
