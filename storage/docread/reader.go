package docread

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Memory bounds what the documents that are read for somebody take, all together.
type Memory interface {
	// Hold is called before bodies that are apart from their entries are read together, with their
	// bytes. It may wait, and its error ends the read. Each call replaces the one before: the
	// earlier bodies are not needed any more.
	Hold(ctx context.Context, bytes int) error
}

// HoldParsed holds what a body takes with its values, before it is parsed: up to fourteen times its
// text. Small ones are not counted, nor those that nobody bounds, whose m is nil.
func HoldParsed(ctx context.Context, m Memory, body []byte) error {
	const notCounted = 256 << 10
	bytes := len(body) + int(ejson.TapeSize(body))
	if m == nil || bytes < notCounted {
		return nil
	}
	return m.Hold(ctx, bytes)
}

// Reader reads one database in one snapshot. It is for one goroutine, and valid as long as the
// snapshot.
type Reader struct {
	counts.Reader
	// The record of the database in this snapshot.
	Rec  keyspace.Record
	Name string
	// Memory is asked with Ctx before large bodies are read; nil: without bound, as in transactions
	// that write.
	Memory Memory
	Ctx    context.Context // of the call that the snapshot was taken for
	Slice
	// Advanced is set when a part of the work is done for good; see kv.GoOn.
	Advanced bool
}

// Open begins with the record as it was the last time, where that saves a round trip: see
// kv.GetCached. The error is compat.ErrNoDatabase if there is no database of that name.
func (d *Reader) Open(r kv.ReadTx, name string) error {
	value, err := kv.GetCached(r, keyspace.RecordKey(name))
	if err != nil {
		return err
	}
	if value == nil {
		return compat.ErrNoDatabase
	}
	if d.Rec, err = keyspace.ParseRecord(value); err != nil {
		return err
	}
	d.R, d.Name, d.Keys = r, name, keyspace.NewSpace(d.Rec.Prefix)
	return nil
}

// Advance notes that what was done so far need not be done again in another snapshot.
func (d *Reader) Advance() { d.Advanced = true }

// Walk calls fn for the keys below a prefix, without it, from after *cursor on, and moves the
// cursor past every one that fn has taken.
func (d *Reader) Walk(prefix []byte, cursor *[]byte, fn func(suffix, value []byte) error) error {
	begin, end := keyspace.Children(prefix)
	if *cursor != nil {
		begin = kv.AppendKeyAfter(nil, slices.Concat(prefix, *cursor))
	}
	it := d.R.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		suffix := it.Key()[len(prefix):]
		if err := fn(suffix, it.Value()); err != nil {
			return err
		}
		*cursor = append((*cursor)[:0], suffix...)
		if *cursor == nil {
			*cursor = []byte{}
		}
		d.Advance()
	}
	return it.Err()
}
