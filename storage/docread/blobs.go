package docread

import (
	"bytes"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// EntryOf parses an entry's value, and reads the long list of attachments or the long body that is
// stored under keys of its own.
func (d *Reader) EntryOf(value []byte) (formats.Entry, error) {
	e, err := formats.ParseEntry(value)
	if err == nil {
		e, err = d.completed(e, nil)
	}
	return e, err
}

// completed is Complete for a single entry. Most entries are whole, and it returns at once.
func (d *Reader) completed(e formats.Entry, members Members) (formats.Entry, error) {
	if e.Whole() {
		return e, nil
	}
	read := e
	_, err := d.CompleteIn(nil, 0, []Apart{{Entry: &read, Members: members}})
	return read, err
}

// Complete reads, all together, the parts of entries that are stored under keys of their own: long
// lists of attachments and, if wanted, long bodies. After an error an entry has only what was in
// its value.
func (d *Reader) Complete(bodies bool, entries ...*formats.Entry) error {
	list := make([]Apart, len(entries))
	for i, e := range entries {
		if list[i].Entry = e; !bodies {
			list[i].Members = NoMembers
		}
	}
	return d.read(nil, 0, list)
}

// attachmentCopies is how many times its stored form a list of attachments takes in memory.
const attachmentCopies = 4

// CompleteIn reads what the first of some entries have apart, whose weights together are not much
// more than LargeAhead: of as many as that has room for, and of at least one; it tells how many.
// Nobody needs their bodies any more when it is called with the same room again: they are in its
// memory. beside is how many bytes the reader has in memory besides.
func (d *Reader) CompleteIn(room *BodyRoom, beside int, list []Apart) (n int, err error) {
	if err := d.locate(beside, list); err != nil {
		return 0, err
	}
	for size := 0; n < len(list); n++ {
		if size += list[n].held(); size > LargeAhead && n > 0 {
			break
		}
	}
	return n, d.read(room, beside, list[:n])
}

// read reads what is wanted of all entries of a list together.
func (d *Reader) read(room *BodyRoom, beside int, list []Apart) error {
	var reads []blobRead
	size := 0
	for i := range list {
		a := &list[i]
		if a.Atts == nil && !a.AttsApart.IsZero() {
			reads = append(reads, blobRead{b: &a.AttsApart, atts: &a.Atts})
			beside += attachmentCopies * a.AttsApart.Length
		}
		if a.readsBody() {
			r := blobRead{b: &a.BodyApart, body: &a.Body, part: a.part}
			reads = append(reads, r)
			size += r.length()
			beside += a.held() - r.length()
			a.Size -= int64(r.b.Length - r.length())
		}
	}
	held := room.begin(size)
	if d.Memory != nil && size+beside > 0 {
		if err := d.Memory.Hold(d.Ctx, held+beside); err != nil {
			return err
		}
	}
	for i := range reads {
		reads[i].start(d)
	}
	room.fill(size)
	var failure error
	for i := range reads {
		if err := reads[i].finish(room, failure != nil); failure == nil {
			failure = err
		}
	}
	return failure
}

// BodyRoom is memory for the bodies that a list reads together, used again for the next ones; nil:
// each body has its own.
type BodyRoom struct{ all, free []byte }

// Begin ends the use of the bodies before, and tells how much memory the next ones take. Before it
// waits for memory it frees a buffer that is too small, or much too large.
func (r *BodyRoom) begin(size int) int {
	if r == nil {
		return size
	}
	if n := cap(r.all); n < size || n > LargeAhead && size <= LargeAhead {
		*r = BodyRoom{}
	}
	return max(size, cap(r.all))
}

// fill makes room for that many bytes of bodies, where those before were.
func (r *BodyRoom) fill(size int) {
	if r == nil {
		return
	}
	if cap(r.all) < size {
		r.all = make([]byte, 0, size)
	}
	r.free = r.all[:0]
}

// take gives memory for one body.
func (r *BodyRoom) take(size int) []byte {
	if r == nil || cap(r.free) < size {
		return make([]byte, 0, size)
	}
	b := r.free[:0:size]
	r.free = r.free[size:size:cap(r.free)]
	return b
}

// blobRead is a running read of a blob. Each chunk is a range of its own, so that all of them come
// in one round trip.
type blobRead struct {
	b      *formats.Blob
	part   *bodyPart // what is read of it; nil: all
	body   *[]byte
	atts   *[]compat.Attachment
	chunks []kv.Iterator
}

// start asks for the chunks of a blob, all of them or those that the wanted members are in; each is
// a range of one key, so that they are on their way together.
func (r *blobRead) start(d *Reader) {
	key := d.Keys.Attachment(nil, keyspace.TagAtt, r.b.Ref)
	prefix := len(key)
	reader := d.R.Snapshot() // nobody changes a blob: the entry is what conflicts
	chunk := func(n int) {
		key = tuple.AppendInt(key[:prefix], int64(n))
		r.chunks = append(r.chunks, reader.Range(key, append(key, 0), kv.RangeOptions{Limit: 1}))
	}
	if r.part != nil {
		for _, n := range r.part.chunks {
			chunk(n)
		}
		return
	}
	for n := range (r.b.Length + keyspace.MaxValue - 1) / keyspace.MaxValue {
		chunk(n)
	}
}

// length is how long what is read is.
func (r *blobRead) length() int {
	if r.part != nil {
		return r.part.length
	}
	return r.b.Length
}

// finish ends the read; it only closes it if another one has failed.
func (r *blobRead) finish(room *BodyRoom, failed bool) (err error) {
	if r.body == nil {
		room = nil
	}
	var joined []byte
	if !failed {
		joined = room.take(r.length())
	}
	if r.part != nil {
		joined = append(joined, '{')
	}
	for i, it := range r.chunks {
		switch {
		case failed || err != nil || !it.Next():
		case r.part != nil:
			joined = r.part.append(joined, i, it.Value())
		default:
			joined = append(joined, it.Value()...)
		}
		if closed := it.Close(); err == nil {
			err = closed
		}
	}
	if r.part != nil {
		joined = append(joined, '}')
	}
	switch {
	case failed || err != nil:
		return err
	case len(joined) != r.length():
		return keyspace.Corrupt("chunks", nil)
	case r.body != nil:
		*r.body = joined
		return nil
	}
	list := packed.Reader{B: joined}
	if *r.atts = formats.ReadAttachments(&list); !list.Done() {
		return keyspace.Corrupt("attachments", nil)
	}
	return nil
}

// readChunks reads what putChunks wrote.
func (d *Reader) readChunks(key []byte, length int) ([]byte, error) {
	_, end := keyspace.Children(key)
	it := d.R.Range(kv.AppendKeyAfter(nil, key), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	b := make([]byte, 0, min(length, 16<<20))
	for it.Next() {
		b = append(b, it.Value()...)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	if len(b) != length {
		return nil, keyspace.Corrupt("chunks", nil)
	}
	return b, nil
}

// Owned gives a body that is independent of the store's memory. What was apart is so already.
func Owned(body []byte) []byte {
	if len(body) > formats.MaxInline {
		return body
	}
	return bytes.Clone(body)
}

// StoredSecurity reads where the security object is; nil if there is none.
func (d *Reader) StoredSecurity() (*formats.Security, error) {
	value, err := d.R.Get(d.Keys.Sub(nil, keyspace.TagSecurity))
	if err != nil || value == nil {
		return nil, err
	}
	stored, err := formats.ParseSecurity(value)
	return &stored, err
}

// SecurityText reads the text of a security object, in memory of its own.
func (d *Reader) SecurityText(stored *formats.Security) ([]byte, error) {
	text := bytes.Clone(stored.Begin)
	if len(text) == stored.Length {
		return text, nil
	}
	rest, err := d.readChunks(d.Keys.Sub(nil, keyspace.TagSecurity), stored.Length-len(text))
	if err != nil || len(text) == 0 {
		return rest, err
	}
	return append(text, rest...), nil
}
