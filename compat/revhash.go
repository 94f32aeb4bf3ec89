package compat

import (
	"crypto/md5"
	"hash"
	"sync"

	"github.com/settee-db/settee/compat/ejson"
)

// RevAttachment is what the revision id takes of an attachment: its name, its content type, and the
// MD5 of its stored bytes.
type RevAttachment struct {
	Name string
	Type string
	MD5  [16]byte
}

// termVersion begins every external term.
const termVersion = 131

// NewRev is the revision that CouchDB gives to an edit of parent (the zero Rev if there is none):
// the depth below the parent and the MD5 of the external term [Deleted, ParentPos, ParentHash,
// Body, Atts] (couch_db:new_revid). bodyTerm is Body.Term. atts are the attachments in document
// order; the hash takes them in reverse.
func NewRev(parent Rev, deleted bool, bodyTerm []byte, atts []RevAttachment) Rev {
	return hashEdit(parent, deleted, bodyTerm, func(tail []byte) []byte {
		tail = ejson.AppendTermList(tail, len(atts))
		for i := len(atts) - 1; i >= 0; i-- {
			tail = ejson.AppendTermTuple(tail, 3)
			tail = ejson.AppendTermBinary(tail, atts[i].Name)
			tail = ejson.AppendTermBinary(tail, atts[i].Type)
			tail = ejson.AppendTermBinary(tail, atts[i].MD5[:])
		}
		if len(atts) > 0 {
			tail = ejson.AppendTermNil(tail)
		}
		return tail
	})
}

// RecreatedRev is the revision of a document written without a revision over a tombstone. The real
// server hashes such an edit after it has replaced the attachments by placeholders, so only their
// number counts.
func RecreatedRev(tombstone Rev, bodyTerm []byte, attachments int) Rev {
	return hashEdit(tombstone, false, bodyTerm, func(tail []byte) []byte {
		tail = ejson.AppendTermList(tail, attachments)
		for range attachments {
			tail = ejson.AppendTermTuple(tail, 3)
			for range 3 {
				tail = ejson.AppendTermAtom(tail, "undefined")
			}
		}
		if attachments > 0 {
			tail = ejson.AppendTermNil(tail)
		}
		return tail
	})
}

// hasher is the reusable memory of hashEdit.
type hasher struct {
	md5 hash.Hash
	buf []byte
	sum [md5.Size]byte
}

var hashers = sync.Pool{New: func() any { return &hasher{md5: md5.New()} }}

// hashEdit computes the revision of an edit: MD5 of the external term that couch_db:new_revid
// hashes, a list of deleted, the parent's depth and hash, the body and the attachments. The list's
// head, body and tail are written to the hash one after the other, so that the body is not copied.
func hashEdit(parent Rev, deleted bool, bodyTerm []byte, appendAtts func([]byte) []byte) Rev {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.md5.Reset()

	head := append(h.buf[:0], termVersion)
	head = ejson.AppendTermList(head, 5)
	head = ejson.AppendTermBool(head, deleted)
	head = ejson.AppendTermInt(head, parent.Pos)
	if parent.IsZero() {
		head = ejson.AppendTermInt(head, 0)
	} else {
		head = ejson.AppendTermBinary(head, parent.Hash)
	}
	h.md5.Write(head)
	h.md5.Write(bodyTerm)
	tail := ejson.AppendTermNil(appendAtts(head[:0]))
	h.md5.Write(tail)
	h.buf = tail
	return Rev{Pos: parent.Pos + 1, Hash: string(h.md5.Sum(h.sum[:0]))}
}
