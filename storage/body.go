package storage

import (
	"bytes"
	"crypto/md5"

	"github.com/settee-db/settee/storage/chunks"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// maxInlineAtts is the length up to which the list of attachments is in the entry.
const maxInlineAtts = keyspace.MaxValue - formats.MaxInline - 1000

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
	if len(n.Body) > formats.MaxInline {
		var err error
		if n.BodyApart, err = e.t.claimBody(w.doc); err != nil {
			return formats.Entry{}, err
		}
		if n.BodyApart.IsZero() {
			n.BodyApart = e.t.putBlob(n.Body)
			if table := formats.MembersTable(n.Body); table != nil {
				e.t.blobs.PutChunks(n.BodyApart.Ref, formats.MembersChunk, [][]byte{table})
			}
		}
	}
	return n, nil
}

// putBlob stores bytes that an entry of this transaction refers to.
func (t *dbTx) putBlob(b []byte) formats.Blob {
	ref := t.blobs.Put(chunks.Of(keyspace.MaxValue, bytes.Clone(b)).Chunks())
	t.blobs.Share(ref)
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
	return value, int64(len(value)+e.AttsApart.Length+e.BodyApart.Length) + e.Held
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
