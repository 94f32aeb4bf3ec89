package storage

import (
	"bytes"
	"crypto/md5"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// maxInline is the length up to which a body is in its entry (ADR 0014).
	maxInline = 64 << 10
	// maxInlineAtts is the length up to which the list of attachments is.
	maxInlineAtts = maxEntry - maxInline - 1000
)

// newEntry makes the entry of a revision that comes with its body: what it refers to is stored, and counted.
func (e *docEdit) newEntry(w *revWrite) (entry, error) {
	if err := e.claim(w); err != nil {
		return entry{}, err
	}
	n := entry{atts: w.atts, body: w.body()}
	if len(n.atts) > 0 {
		list := appendAttachments(e.t.scratch[:0], n.atts)
		if e.t.scratch = list[:0]; len(list) > maxInlineAtts {
			n.attsApart = e.t.putBlob(list)
		}
	}
	if len(n.body) > maxInline {
		var err error
		if n.bodyApart, err = e.t.claimBody(w.doc); err != nil {
			return entry{}, err
		}
		if n.bodyApart.isZero() {
			n.bodyApart = e.t.putBlob(n.body)
		}
	}
	return n, nil
}

// putBlob stores bytes that an entry of this transaction refers to.
func (t *dbTx) putBlob(b []byte) blob {
	ref := t.putAttachment(b)
	t.shareAttachment(ref)
	return blob{ref: ref, digest: md5.Sum(b), length: len(b)}
}

// setEntry writes an entry and returns its size. What it refers to is counted already.
func (t *dbTx) setEntry(key []byte, e *entry) int64 {
	value := e.encode(t.scratch[:0])
	t.scratch = value[:0]
	t.tx.Set(key, value)
	return int64(len(value) + e.attsApart.length + e.bodyApart.length)
}

// entryOf reads an entry whose value is at hand.
func (d *dbRead) entryOf(value []byte) (entry, error) {
	e, err := parseEntry(value)
	if err == nil {
		e, err = d.completed(true, e)
	}
	return e, err
}

// completed is complete for one entry, which on most ways has nothing apart.
func (d *dbRead) completed(bodies bool, e entry) (entry, error) {
	if e.whole() {
		return e, nil
	}
	read := e
	err := d.complete(bodies, &read)
	return read, err
}

// complete reads what entries have apart, all of it together: the lists of attachments and, if they are wanted, the bodies. An error
// leaves an entry with what was in its value.
func (d *dbRead) complete(bodies bool, entries ...*entry) error {
	var reads []blobRead
	for _, e := range entries {
		if e.atts == nil && !e.attsApart.isZero() {
			reads = append(reads, blobRead{b: &e.attsApart, atts: &e.atts})
		}
		if bodies && e.body == nil && !e.bodyApart.isZero() {
			reads = append(reads, blobRead{b: &e.bodyApart, body: &e.body})
		}
	}
	for i := range reads {
		reads[i].start(d)
	}
	var failure error
	for i := range reads {
		if err := reads[i].finish(failure != nil); failure == nil {
			failure = err
		}
	}
	return failure
}

// blobRead is a running read of a blob. Each chunk is a range of its own, so that all of them come in one round trip.
type blobRead struct {
	b      *blob
	body   *[]byte
	atts   *[]compat.Attachment
	chunks []kv.Iterator
}

func (r *blobRead) start(d *dbRead) {
	key := d.keys.attachment(nil, TagAtt, r.b.ref)
	prefix := len(key)
	reader := d.r.Snapshot() // nobody changes a blob: the entry is what conflicts
	for n := range int64((r.b.length + maxEntry - 1) / maxEntry) {
		key = kv.AppendInt(key[:prefix], n)
		r.chunks = append(r.chunks, reader.Range(key, append(key, 0), kv.RangeOptions{Limit: 1}))
	}
}

// finish ends the read; it only closes it if another one has failed.
func (r *blobRead) finish(failed bool) (err error) {
	var joined []byte
	if !failed {
		joined = make([]byte, 0, r.b.length)
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
	case len(joined) != r.b.length:
		return corrupt("chunks", nil)
	case r.body != nil:
		*r.body = joined
		return nil
	}
	list := valueReader{b: joined}
	if *r.atts = list.attachments(); list.bad || len(list.b) > 0 {
		return corrupt("attachments", nil)
	}
	return nil
}

// putChunks writes bytes that are too many for one value below a key.
func (t *dbTx) putChunks(key, b []byte) {
	chunk := make([]byte, 0, len(key)+9)
	for n := int64(0); len(b) > 0; n++ {
		part := b[:min(len(b), maxEntry)]
		b = b[len(part):]
		chunk = kv.AppendInt(append(chunk[:0], key...), n)
		t.tx.Set(chunk, part)
	}
}

// readChunks reads what putChunks wrote.
func (d *dbRead) readChunks(key []byte, length int) ([]byte, error) {
	_, end := children(key)
	it := d.r.Range(kv.AppendKeyAfter(nil, key), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	b := make([]byte, 0, min(length, 16<<20))
	for it.Next() {
		b = append(b, it.Value()...)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	if len(b) != length {
		return nil, corrupt("chunks", nil)
	}
	return b, nil
}

// whole tells whether nothing of the entry is left to be read.
func (e *entry) whole() bool {
	return (e.body != nil || e.bodyApart.isZero()) && (e.atts != nil || e.attsApart.isZero())
}

// owned gives a body that is independent of the store's memory. What was apart is so already.
func owned(body []byte) []byte {
	if len(body) > maxInline {
		return body
	}
	return bytes.Clone(body)
}
