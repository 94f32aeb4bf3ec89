package storage

import (
	"encoding/binary"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// entry is a stored entry, read.
type entry struct {
	deleted bool // only of TagHistory
	atts    []compat.Attachment
	body    []byte // `{}` if the revision has no entry
	size    int64  // bytes of the entry's values
	spread  bool   // has keys below its own
}

var emptyBody = []byte("{}")

// putEntry writes an entry and returns the bytes of its values.
func (t *dbTx) putEntry(key []byte, flags byte, atts []compat.Attachment, body []byte) int64 {
	if len(atts) > 0 {
		flags |= entryHasAtts
	}
	value := append(t.scratch[:0], entryInline, flags)
	value = appendPayload(value, atts, body)
	t.scratch = value[:0]
	if len(value) <= maxEntry {
		t.tx.Set(key, value)
		return int64(len(value))
	}
	payload := value[2:]
	head := binary.AppendUvarint([]byte{entryChunked, flags}, uint64(len(payload)))
	t.tx.Set(key, head)
	t.putChunks(key, payload)
	return int64(len(head) + len(payload))
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

// clearEntry removes an entry.
func (t *dbTx) clearEntry(key []byte, spread bool) {
	if !spread {
		t.tx.Clear(key)
		return
	}
	t.tx.ClearRange(children(key))
}

// parseEntry reads an entry from its own value; if it is chunked, attachments and body are in the keys below. Nothing is copied.
func parseEntry(value []byte) (e entry, head entryHead, err error) {
	if len(value) < 2 {
		return e, head, corrupt("entry", nil)
	}
	head = entryHead{format: value[0], flags: value[1]}
	e = entry{deleted: head.flags&entryDeleted != 0, size: int64(len(value)), spread: head.format != entryInline}
	switch head.format {
	case entryInline:
		e.atts, e.body, err = parsePayload(value[2:], head.flags)
	case entryChunked:
		length, n := binary.Uvarint(value[2:])
		if n <= 0 || length > 1<<40 {
			return e, head, corrupt("entry", nil)
		}
		head.length = int(length)
	default:
		err = corrupt("entry format", nil)
	}
	return e, head, err
}

// entryHead is what an entry's own value says about the rest.
type entryHead struct {
	format, flags byte
	length        int // chunked: of the payload
}

// entryOf completes an entry whose own value is at hand.
func (d *dbRead) entryOf(key, value []byte) (entry, error) {
	e, head, err := parseEntry(value)
	if err != nil || head.format == entryInline {
		return e, err
	}
	payload, err := d.readChunks(key, head.length)
	if err != nil {
		return e, err
	}
	e.size += int64(len(payload))
	e.atts, e.body, err = parsePayload(payload, head.flags)
	return e, err
}

// readEntry reads the entry at a key of TagDocs or TagHistory; found is false if there is none. The body may share memory with
// the store and is valid in this transaction only.
func (d *dbRead) readEntry(key []byte) (e entry, found bool, err error) {
	value, err := d.r.Get(key)
	if err != nil || value == nil {
		return e, false, err
	}
	e, err = d.entryOf(key, value)
	return e, true, err
}
