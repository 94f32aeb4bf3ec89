package storage

import (
	"crypto/md5"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
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
	r := packed.Reader{B: value}
	if r.Byte() != entryFormat {
		return e, keyspace.Corrupt("entry format", nil)
	}
	flags := r.Byte()
	e = entry{deleted: flags&entryDeleted != 0, size: int64(len(value))}
	switch {
	case flags&entryAttsApart != 0:
		e.attsApart = readBlob(&r)
	case flags&entryHasAtts != 0:
		e.atts = readAttachments(&r)
	}
	if e.body = r.B; flags&entryBodyApart != 0 {
		e.bodyApart = readBlob(&r)
		e.body = nil
		r.Bad = r.Bad || len(r.B) > 0
	}
	if r.Bad {
		return entry{}, keyspace.Corrupt("entry", nil)
	}
	e.size += int64(e.attsApart.length + e.bodyApart.length)
	return e, nil
}

// maxBlob is more than any list or body has.
const maxBlob = 1 << 32

func readBlob(r *packed.Reader) (b blob) {
	b.ref = string(r.Take(blobIDSize))
	copy(b.digest[:], r.Take(len(b.digest)))
	length := r.Uvarint()
	r.Bad = r.Bad || length == 0 || length > maxBlob
	b.length = int(length)
	return b
}

func appendAttachments(dst []byte, atts []compat.Attachment) []byte {
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

// leastAttachment is what an attachment takes at least: three empty texts, a digest, an encoding and three numbers.
const leastAttachment = 3 + md5.Size + 1 + 3

func readAttachments(r *packed.Reader) []compat.Attachment {
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
