package feed

import (
	"context"
	"hash/crc32"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// Partitions is how many lists of events a function has. The events of a document are all in one.
const Partitions = 64

// PartitionOf is the list that a document's events are in.
func PartitionOf(id string) int {
	crc := ^uint32(0) // as crc32.ChecksumIEEE makes it, which wants bytes that are allocated
	for i := range len(id) {
		crc = crc32.IEEETable[byte(crc)^id[i]] ^ crc>>8
	}
	return int(^crc % Partitions)
}

// Row is a change of a document as all functions see it. Consumers share rows, so nobody may change
// one.
type Row struct {
	storage.Change        // the document is the row's own; nil for a deletion of which nothing more is known
	Partition      int    // of the document
	Meta           []byte // what handlers get beside the document
	Origin         Origin
}

// size is about how many bytes the row takes.
func (r *Row) size() int {
	size := len(r.Meta)
	if r.Doc != nil {
		size += len(r.Doc.Body)
	}
	return size
}

// AppendExpiry completes what meta has begun.
func AppendExpiry(b []byte, ms int64) []byte {
	b = strconv.AppendInt(append(b, `,"expiration":`...), ms/1000, 10)
	b = strconv.AppendInt(append(b, `,"expiry":`...), ms/1000, 10)
	if ms > 0 {
		b = strconv.AppendInt(append(b, `,"expiry_date":`...), ms, 10)
	}
	return append(b, '}')
}

// usualMeta is a length that what AppendMeta appends stays below, with its end, where names are not
// long.
const usualMeta = 384

// AppendMeta appends the metadata that handlers get with a document (Couchbase's meta argument); AppendExpiry ends it.
func AppendMeta(b []byte, source string, ch *storage.Change, partition int) []byte {
	rev := ch.Revs[0].String()
	b = ejson.AppendString(append(b, `{"id":`...), ch.ID)
	b = ejson.AppendString(append(b, `,"docid":`...), ch.ID)
	b = ejson.AppendString(append(b, `,"cas":`...), rev)
	b = ejson.AppendString(append(b, `,"rev":`...), rev)
	b = strconv.AppendUint(append(b, `,"seq":`...), ch.Seq.N, 10)
	b = strconv.AppendInt(append(b, `,"vb":`...), int64(partition), 10)
	b = append(b, `,"flags":0,"datatype":"json","created":`...)
	b = strconv.AppendBool(b, ch.Revs[0].Pos == 1)
	b = ejson.AppendString(append(b, `,"keyspace":{"bucket_name":`...), source)
	b = append(b, `,"scope_name":"_default","collection_name":"_default"}`...)
	if ch.Doc != nil && len(ch.Doc.Attachments) > 0 {
		b = append(attachmentsOf(append(b, `,"attachments":{`...), ch.Doc.Attachments), '}')
	}
	return b
}

// slab is memory of which rows have small parts: they come and go together, and the collector has
// less to look at.
type slab struct {
	free []byte
	size int // of what was allocated last
}

// Slabs begin small, for a row that comes alone, and each is twice as large as the one before, up
// to mostSlab.
const (
	leastSlab = 1 << 10
	mostSlab  = 32 << 10
)

// room is an empty slice with a capacity of its own, so that appending to it cannot reach the next
// one's memory. Large ones are allocated by themselves.
func (s *slab) room(size int) []byte {
	if size > mostSlab/4 {
		return make([]byte, 0, size)
	}
	if len(s.free) < size {
		s.size = max(leastSlab, size, min(2*s.size, mostSlab))
		s.free = make([]byte, s.size)
	}
	var b []byte
	b, s.free = s.free[:0:size], s.free[size:]
	return b
}

// ownCopy is a copy of a row's document that has memory of a slab.
func ownCopy(mem *slab, doc *docread.Document) *docread.Document {
	if doc == nil {
		return nil
	}
	c := *doc
	if doc.Body != nil {
		c.Body = append(mem.room(len(doc.Body)), doc.Body...)
	}
	c.Attachments = slices.Clone(doc.Attachments)
	return &c
}

// Shown is the document of a row as a principal may see it, and false if it must not be seen at
// all. Only a database with hidden members costs a copy.
func (r *Row) Shown(ctx context.Context, db *documents.Database) (*docread.Document, bool) {
	if !db.Hides() {
		return r.Doc, true
	}
	doc := ownCopy(new(slab), r.Doc)
	return doc, db.Show(ctx, doc) == nil
}

// attachmentsOf appends the list of a document's attachments as handlers see it.
func attachmentsOf(b []byte, list []compat.Attachment) []byte {
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, list[i].Name)
		b = ejson.AppendString(append(b, `:{"content_type":`...), list[i].Type)
		b = append(strconv.AppendInt(append(b, `,"length":`...), list[i].Length, 10), '}')
	}
	return b
}
