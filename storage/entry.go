package storage

import (
	"encoding/binary"

	"github.com/settee-db/settee/compat"
)

// An entry is what TagDocs and TagHistory hold of a revision: attachments and body.
//
//	value   = format, flags, rest
//	inline  rest = payload
//	chunked rest = varint length of the payload, which is in chunks below the key
//	payload = [attachments, if flagged], JSON text to the end
//	attachments = varint count, each: name, type, ref (each with varint length), digest (16), encoding, signed varints
//	          revpos, length, encoded length
const (
	entryInline  = 1
	entryChunked = 2

	entryHasAtts = 1
	entryDeleted = 2 // TagHistory: the revision was a tombstone
)

// appendPayload appends attachments and body.
func appendPayload(dst []byte, atts []compat.Attachment, body []byte) []byte {
	if len(atts) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(atts)))
	}
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
	return append(dst, body...)
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// parsePayload is the inverse of appendPayload; body shares memory with b.
func parsePayload(b []byte, flags byte) (atts []compat.Attachment, body []byte, err error) {
	if flags&entryHasAtts == 0 {
		return nil, b, nil
	}
	r := valueReader{b: b}
	count := r.uvarint()
	if count > uint64(len(b)) {
		return nil, nil, corrupt("attachments", nil)
	}
	atts = make([]compat.Attachment, count)
	for i := range atts {
		a := &atts[i]
		a.Name, a.Type, a.Ref = r.text(), r.text(), r.text()
		copy(a.Digest[:], r.take(len(a.Digest)))
		a.Encoding = compat.Encoding(r.byte())
		a.RevPos, a.Length, a.EncodedLength = r.varint(), r.varint(), r.varint()
		a.Source, a.HasRevPos, a.HasDigest = compat.SourceStored, true, true
	}
	if r.bad {
		return nil, nil, corrupt("attachments", nil)
	}
	return atts, r.b, nil
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
