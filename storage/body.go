package storage

import (
	"bytes"
	"crypto/md5"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/chunks"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// maxInline is the length up to which a body is in its entry (ADR 0014).
	maxInline = 64 << 10
	// maxInlineAtts is the length up to which the list of attachments is.
	maxInlineAtts = keyspace.MaxValue - maxInline - 1000
)

// newEntry makes the entry of a revision that comes with its body: what it refers to is stored, and
// counted.
func (e *docEdit) newEntry(w *revWrite) (formats.Entry, error) {
	if err := e.claim(w); err != nil {
		return formats.Entry{}, err
	}
	n := formats.Entry{Atts: w.atts, Body: w.body()}
	if len(n.Atts) > 0 {
		list := formats.AppendAttachments(e.t.scratch[:0], n.Atts)
		if e.t.scratch = list[:0]; len(list) > maxInlineAtts {
			n.AttsApart = e.t.putBlob(list)
		}
	}
	if len(n.Body) > maxInline {
		var err error
		if n.BodyApart, err = e.t.claimBody(w.doc); err != nil {
			return formats.Entry{}, err
		}
		if n.BodyApart.IsZero() {
			n.BodyApart = e.t.putBlob(n.Body)
		}
	}
	return n, nil
}

// putBlob stores bytes that an entry of this transaction refers to.
func (t *dbTx) putBlob(b []byte) formats.Blob {
	ref := t.putAttachment(chunks.Of(keyspace.MaxValue, bytes.Clone(b)).Chunks())
	t.shareAttachment(ref)
	return formats.Blob{Ref: ref, Digest: md5.Sum(b), Length: len(b)}
}

// setEntry writes an entry and returns its size. What it refers to is counted already.
func (t *dbTx) setEntry(key []byte, e *formats.Entry) int64 {
	value, size := t.encodeEntry(e)
	t.tx.Set(key, value)
	return size
}

// encodeEntry gives an entry's value, in memory that the next one takes, and its size.
func (t *dbTx) encodeEntry(e *formats.Entry) (value []byte, size int64) {
	value = e.Encode(t.scratch[:0])
	t.scratch = value[:0]
	return value, int64(len(value) + e.AttsApart.Length + e.BodyApart.Length)
}

// entryOf parses an entry whose value was read already, and reads what is stored apart from it.
func (d *dbRead) entryOf(value []byte) (formats.Entry, error) {
	e, err := formats.ParseEntry(value)
	if err == nil {
		e, err = d.completed(true, e)
	}
	return e, err
}

// completed is complete for a single entry. Most entries have nothing stored apart, and return at
// once.
func (d *dbRead) completed(bodies bool, e formats.Entry) (formats.Entry, error) {
	if e.Whole() {
		return e, nil
	}
	read := e
	err := d.complete(bodies, &read)
	return read, err
}

// complete reads what entries have apart, all of it together: the lists of attachments and, if they
// are wanted, the bodies. An error leaves an entry with what was in its value.
func (d *dbRead) complete(bodies bool, entries ...*formats.Entry) error {
	return d.completeIn(nil, 0, bodies, entries...)
}

// attachmentCopies is how many times its stored form a list of attachments takes in memory.
const attachmentCopies = 4

// completeIn is complete for bodies that nobody needs any more when it is called with the same room
// again: they are in its memory. beside is how many bytes the reader has in memory besides.
func (d *dbRead) completeIn(room *bodyRoom, beside int, bodies bool, entries ...*formats.Entry) error {
	var reads []blobRead
	size := 0
	for _, e := range entries {
		if e.Atts == nil && !e.AttsApart.IsZero() {
			reads = append(reads, blobRead{b: &e.AttsApart, atts: &e.Atts})
			beside += attachmentCopies * e.AttsApart.Length
		}
		if bodies && e.Body == nil && !e.BodyApart.IsZero() {
			reads = append(reads, blobRead{b: &e.BodyApart, body: &e.Body})
			size += e.BodyApart.Length
		}
	}
	held := room.begin(size)
	if d.memory != nil && size+beside > 0 {
		if err := d.memory.Hold(d.ctx, held+beside); err != nil {
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

// bodyRoom is memory for the bodies that a list reads together, used again for the next ones; nil:
// each body has its own.
type bodyRoom struct{ all, free []byte }

// begin ends the use of the bodies before, and tells how much memory the next ones take. What is
// too small for them is gone while they wait for theirs, and what is much too large.
func (r *bodyRoom) begin(size int) int {
	if r == nil {
		return size
	}
	if n := cap(r.all); n < size || n > largeAhead && size <= largeAhead {
		*r = bodyRoom{}
	}
	return max(size, cap(r.all))
}

// fill makes room for that many bytes of bodies, where those before were.
func (r *bodyRoom) fill(size int) {
	if r == nil {
		return
	}
	if cap(r.all) < size {
		r.all = make([]byte, 0, size)
	}
	r.free = r.all[:0]
}

// take gives memory for one body.
func (r *bodyRoom) take(size int) []byte {
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
	body   *[]byte
	atts   *[]compat.Attachment
	chunks []kv.Iterator
}

func (r *blobRead) start(d *dbRead) {
	key := d.Keys.Attachment(nil, keyspace.TagAtt, r.b.Ref)
	prefix := len(key)
	reader := d.R.Snapshot() // nobody changes a blob: the entry is what conflicts
	for n := range int64((r.b.Length + keyspace.MaxValue - 1) / keyspace.MaxValue) {
		key = tuple.AppendInt(key[:prefix], n)
		r.chunks = append(r.chunks, reader.Range(key, append(key, 0), kv.RangeOptions{Limit: 1}))
	}
}

// finish ends the read; it only closes it if another one has failed.
func (r *blobRead) finish(room *bodyRoom, failed bool) (err error) {
	if r.body == nil {
		room = nil
	}
	var joined []byte
	if !failed {
		joined = room.take(r.b.Length)
	}
	for _, it := range r.chunks {
		if !failed && err == nil && it.Next() {
			joined = append(joined, it.Value()...)
		}
		if closed := it.Close(); err == nil {
			err = closed
		}
	}
	switch {
	case failed || err != nil:
		return err
	case len(joined) != r.b.Length:
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

// putChunks writes bytes that are too many for one value below a key.
func (t *dbTx) putChunks(key, b []byte) {
	chunk := make([]byte, 0, len(key)+9)
	for n := int64(0); len(b) > 0; n++ {
		part := b[:min(len(b), keyspace.MaxValue)]
		b = b[len(part):]
		chunk = tuple.AppendInt(append(chunk[:0], key...), n)
		t.tx.Set(chunk, part)
	}
}

// readChunks reads what putChunks wrote.
func (d *dbRead) readChunks(key []byte, length int) ([]byte, error) {
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

// owned gives a body that is independent of the store's memory. What was apart is so already.
func owned(body []byte) []byte {
	if len(body) > maxInline {
		return body
	}
	return bytes.Clone(body)
}
