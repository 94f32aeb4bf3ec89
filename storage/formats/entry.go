package formats

import (
	"crypto/md5"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
)

// Entry is what TagDocs and TagHistory hold of a revision: attachments and body, always in one
// value. What is too long for it is a blob, bytes under an id of their own (attachments.go), and
// the entry has a reference to it. So a body moves to TagHistory, or is removed, without its bytes
// being read or written again.
//
//	value   = format, flags, times if the format has them, attachments, body
//	times   = varints: replaced, held
//	attachments = nothing unless flagged; a list, or a reference to one if flagged
//	list    = varint count, each: name, type, ref (each with varint length), digest (16), encoding, signed varints
//	          revpos, length, encoded length
//	body    = JSON text to the end, or a reference to it if flagged
//	reference = id (16), digest (16), varint length
type Entry struct {
	Deleted bool // only of TagHistory
	Atts    []compat.Attachment
	Body    []byte // `{}` if the revision has no entry
	// Size is the bytes of the value, of the blobs that it refers to, but for those of attachments,
	// and Held.
	Size int64
	// Replaced is when the revision was replaced, in milliseconds since 1970, where replaced ones
	// are kept for a time; else 0. Only in TagHistory, as Held: the number of bytes of those
	// attachments that the newer revisions have not.
	Replaced, Held int64
	// attsApart and bodyApart are where the list and the body are, unless in the value. What has
	// not been read is nil.
	AttsApart, BodyApart Blob
}

const (
	entryFormat = 3
	entryTimes  = 4 // with times: an older version tells that it cannot read it

	entryHasAtts   = 1
	entryDeleted   = 2 // TagHistory: the revision was a tombstone
	entryAttsApart = 4
	entryBodyApart = 8
)

// Blob names bytes under an id of their own; the zero blob names none.
type Blob struct {
	// The id that the keys of the chunks have; the MD5 and the number of bytes of all of them.
	Ref    string
	Digest [md5.Size]byte
	Length int
}

// IsZero reports whether it names none.
func (b *Blob) IsZero() bool { return b.Ref == "" }

// BlobIDSize is the length of a blob's id.
const BlobIDSize = 16

// EmptyBody is the body of a revision without an entry. Nobody may change it.
var EmptyBody = []byte("{}")

// Encode appends the entry's value.
func (e *Entry) Encode(dst []byte) []byte {
	var flags byte
	if e.Deleted {
		flags |= entryDeleted
	}
	if !e.BodyApart.IsZero() {
		flags |= entryBodyApart
	}
	dst = append(slices.Grow(dst, 2+len(e.Body)), entryFormat, flags)
	at := len(dst) - 1
	if e.Replaced != 0 {
		dst[at-1] = entryTimes
		dst = binary.AppendVarint(binary.AppendVarint(dst, e.Replaced), e.Held)
	}
	switch {
	case !e.AttsApart.IsZero():
		dst[at] |= entryHasAtts | entryAttsApart
		dst = e.AttsApart.Encode(dst)
	case len(e.Atts) > 0:
		dst[at] |= entryHasAtts
		dst = AppendAttachments(dst, e.Atts)
	}
	if !e.BodyApart.IsZero() {
		return e.BodyApart.Encode(dst)
	}
	return append(dst, e.Body...)
}

// Encode appends the reference to the bytes; the zero blob has none.
func (b *Blob) Encode(dst []byte) []byte {
	dst = append(append(dst, b.Ref...), b.Digest[:]...)
	return binary.AppendUvarint(dst, uint64(b.Length))
}

// ParseEntry reads a value, but nothing that is apart. The body shares memory with it.
func ParseEntry(value []byte) (e Entry, err error) {
	r := packed.Reader{B: value}
	format := r.Byte()
	if format != entryFormat && format != entryTimes {
		return e, keyspace.Corrupt("entry format", nil)
	}
	flags := r.Byte()
	e = Entry{Deleted: flags&entryDeleted != 0, Size: int64(len(value))}
	if format == entryTimes {
		e.Replaced, e.Held = r.Varint(), r.Varint()
		r.Bad = r.Bad || e.Replaced == 0 || e.Held < 0
	}
	switch {
	case flags&entryAttsApart != 0:
		e.AttsApart = readBlob(&r)
	case flags&entryHasAtts != 0:
		e.Atts = ReadAttachments(&r)
	}
	if e.Body = r.B; flags&entryBodyApart != 0 {
		e.BodyApart = readBlob(&r)
		e.Body = nil
		r.Bad = r.Bad || len(r.B) > 0
	}
	if r.Bad {
		return Entry{}, keyspace.Corrupt("entry", nil)
	}
	e.Size += int64(e.AttsApart.Length+e.BodyApart.Length) + e.Held
	return e, nil
}

// ReplacedAt is Entry.Replaced of a value; ok is false where it has none.
func ReplacedAt(value []byte) (ms int64, ok bool) {
	if len(value) < 3 || value[0] != entryTimes {
		return 0, false
	}
	ms, n := binary.Varint(value[2:])
	return ms, n > 0
}

// MaxInline is the length up to which a body is in its entry (ADR 0014).
const MaxInline = 64 << 10

// MaxBlob is more than any list or body has.
const MaxBlob = 1 << 32

// readBlob reads a reference. A length that no blob has is damage: it would be trusted for memory.
func readBlob(r *packed.Reader) (b Blob) {
	b.Ref = string(r.Take(BlobIDSize))
	copy(b.Digest[:], r.Take(len(b.Digest)))
	length := r.Uvarint()
	r.Bad = r.Bad || length == 0 || length > MaxBlob
	b.Length = int(length)
	return b
}

// AppendAttachments appends a list of attachments; ReadAttachments reads it.
func AppendAttachments(dst []byte, atts []compat.Attachment) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(atts)))
	for i := range atts {
		a := &atts[i]
		dst = packed.AppendText(dst, a.Name)
		dst = packed.AppendText(dst, a.Type)
		dst = packed.AppendText(dst, a.Ref)
		dst = append(dst, a.Digest[:]...)
		dst = append(dst, byte(a.Encoding))
		dst = binary.AppendVarint(dst, a.RevPos)
		dst = binary.AppendVarint(dst, a.Length)
		dst = binary.AppendVarint(dst, a.EncodedLength)
	}
	return dst
}

// leastAttachment is what an attachment takes at least: three empty texts, a digest, an encoding
// and three numbers.
const leastAttachment = 3 + md5.Size + 1 + 3

// ReadAttachments takes a list of attachments off r, which is bad if it is none.
func ReadAttachments(r *packed.Reader) []compat.Attachment {
	atts := make([]compat.Attachment, r.Count(leastAttachment))
	for i := range atts {
		a := &atts[i]
		a.Name, a.Type, a.Ref = r.Text(), r.Text(), r.Text()
		copy(a.Digest[:], r.Take(len(a.Digest)))
		a.Encoding = compat.Encoding(r.Byte())
		a.RevPos, a.Length, a.EncodedLength = r.Varint(), r.Varint(), r.Varint()
		a.Source, a.HasRevPos, a.HasDigest = compat.SourceStored, true, true
	}
	return atts
}

// Partial reports whether only a part of the body was read, or nothing of one that is apart.
func (e *Entry) Partial() bool { return !e.BodyApart.IsZero() && len(e.Body) != e.BodyApart.Length }

// Whole reports whether nothing of the entry is left to be read.
func (e *Entry) Whole() bool {
	return (e.Body != nil || e.BodyApart.IsZero()) && (e.Atts != nil || e.AttsApart.IsZero())
}
