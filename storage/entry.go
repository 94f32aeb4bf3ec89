package storage

import (
	"crypto/md5"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
)

// An entry is what TagDocs and TagHistory hold of a revision: attachments and body, always in one value. What is too
// long for it is a blob, bytes under an id of their own (attachments.go), and the entry has a reference to it: then a
// body moves to TagHistory, or goes away, without its bytes being read or written again.
//
//	value   = format, flags, attachments, body
//	attachments = nothing unless flagged; a list, or a reference to one if flagged
//	list    = varint count, each: name, type, ref (each with varint length), digest (16), encoding, signed varints
//	          revpos, length, encoded length
//	body    = JSON text to the end, or a reference to it if flagged
//	reference = id (16), digest (16), varint length
type entry struct {
	deleted bool // only of TagHistory
	atts    []compat.Attachment
	body    []byte // `{}` if the revision has no entry
	size    int64  // bytes of the value and of the blobs that it refers to, but for those of attachments
	// attsApart and bodyApart are where the list and the body are, unless in the value. What has not been read is nil.
	attsApart, bodyApart blob
}

const (
	entryFormat = 3

	entryHasAtts   = 1
	entryDeleted   = 2 // TagHistory: the revision was a tombstone
	entryAttsApart = 4
	entryBodyApart = 8
)

// blob names bytes under an id of their own; the zero blob names none.
type blob struct {
	ref    string
	digest [md5.Size]byte
	length int
}

func (b *blob) isZero() bool { return b.ref == "" }

var emptyBody = []byte("{}")

// encode appends the entry's value.
func (e *entry) encode(dst []byte) []byte {
	var flags byte
	if e.deleted {
		flags |= entryDeleted
	}
	if !e.bodyApart.isZero() {
		flags |= entryBodyApart
	}
	dst = append(slices.Grow(dst, 2+len(e.body)), entryFormat, flags)
	at := len(dst) - 1
	switch {
	case !e.attsApart.isZero():
		dst[at] |= entryHasAtts | entryAttsApart
		dst = e.attsApart.encode(dst)
	case len(e.atts) > 0:
		dst[at] |= entryHasAtts
		dst = appendAttachments(dst, e.atts)
	}
	if !e.bodyApart.isZero() {
		return e.bodyApart.encode(dst)
	}
	return append(dst, e.body...)
}

func (b *blob) encode(dst []byte) []byte {
	dst = append(append(dst, b.ref...), b.digest[:]...)
	return binary.AppendUvarint(dst, uint64(b.length))
}

// parseEntry reads a value, but nothing that is apart. The body shares memory with it.
func parseEntry(value []byte) (e entry, err error) {
	r := valueReader{b: value}
	if r.byte() != entryFormat {
		return e, corrupt("entry format", nil)
	}
	flags := r.byte()
	e = entry{deleted: flags&entryDeleted != 0, size: int64(len(value))}
	switch {
	case flags&entryAttsApart != 0:
		e.attsApart = r.blob()
	case flags&entryHasAtts != 0:
		e.atts = r.attachments()
	}
	if e.body = r.b; flags&entryBodyApart != 0 {
		e.bodyApart = r.blob()
		e.body = nil
		r.bad = r.bad || len(r.b) > 0
	}
	if r.bad {
		return entry{}, corrupt("entry", nil)
	}
	e.size += int64(e.attsApart.length + e.bodyApart.length)
	return e, nil
}

// maxBlob is more than any list or body has.
const maxBlob = 1 << 32

func (r *valueReader) blob() (b blob) {
	b.ref = string(r.take(blobIDSize))
	copy(b.digest[:], r.take(len(b.digest)))
	length := r.uvarint()
	r.bad = r.bad || length == 0 || length > maxBlob
	b.length = int(length)
	return b
}

func appendAttachments(dst []byte, atts []compat.Attachment) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(atts)))
	for i := range atts {
		a := &atts[i]
		dst = appendText(dst, a.Name)
		dst = appendText(dst, a.Type)
		dst = appendText(dst, a.Ref)
		dst = append(dst, a.Digest[:]...)
		dst = append(dst, byte(a.Encoding))
		dst = binary.AppendVarint(dst, a.RevPos)
		dst = binary.AppendVarint(dst, a.Length)
		dst = binary.AppendVarint(dst, a.EncodedLength)
	}
	return dst
}

func (r *valueReader) attachments() []compat.Attachment {
	count := r.uvarint()
	if count > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	atts := make([]compat.Attachment, count)
	for i := range atts {
		a := &atts[i]
		a.Name, a.Type, a.Ref = r.text(), r.text(), r.text()
		copy(a.Digest[:], r.take(len(a.Digest)))
		a.Encoding = compat.Encoding(r.byte())
		a.RevPos, a.Length, a.EncodedLength = r.varint(), r.varint(), r.varint()
		a.Source, a.HasRevPos, a.HasDigest = compat.SourceStored, true, true
	}
	return atts
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// valueReader reads the parts of a value; bad is set, and zeros are returned, once something is missing.
type valueReader struct {
	b   []byte
	bad bool
}

func (r *valueReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *valueReader) byte() byte {
	if p := r.take(1); len(p) == 1 {
		return p[0]
	}
	return 0
}

func (r *valueReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *valueReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// bytes reads what appendText wrote, without a copy.
func (r *valueReader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	return r.take(int(n))
}

func (r *valueReader) text() string { return string(r.bytes()) }
