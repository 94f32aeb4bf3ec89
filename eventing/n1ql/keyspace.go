package n1ql

import (
	"context"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// Keyspaces are the keyspaces that statements may name.
type Keyspaces interface {
	// Open finds a keyspace by the name in the statement: the alias of a binding, or the name of a
	// database. It is an *Error of KindKeyspace if there is none, of KindForbidden if it may not be
	// used.
	Open(ctx context.Context, name string) (Keyspace, error)
	// Hold is asked before a statement takes so many bytes more, which it has until its rows are
	// closed. Its error ends the statement.
	Hold(bytes int) error
}

// Keyspace is a set of documents. Bodies are JSON objects without the members that begin with an
// underscore; design documents are none of them.
type Keyspace interface {
	// Get reads documents by their ids, in this order. Those that are not there come with Exists
	// false.
	Get(ctx context.Context, ids []string) ([]Document, error)
	// Find calls f.Each with documents, at least those that pass the selector.
	Find(ctx context.Context, f Find) error
	// Write writes one document. It is an *Error of KindDuplicate, KindConflict or KindMissing if
	// what is expected of it is not so, of KindForbidden if it may not be written.
	Write(ctx context.Context, w Write) error
}

// Document is a document as statements see it.
type Document struct {
	ID     string
	Cas    string // changes with each change of the document
	Body   []byte // a JSON object; nobody keeps or changes it
	Exists bool
	Expiry int64 // Unix seconds, 0 for none
}

// Find says which documents are looked for. Statements decide themselves which documents they take:
// a selector only lets them read fewer. Ids are in the order of their bytes in it and in the sort,
// but not in a JSON index that has the column _id: such an index must not be used where the
// selector has a condition on _id, or documents are lost.
type Find struct {
	Selector []byte      // of Mango, in JSON; nil for all documents
	Sort     []SortField // if Find cannot keep to it, it returns an *Error of KindUnsorted before the first document
	Indexed  bool        // if no index serves it, Find returns an *Error of KindUnindexed before the first document
	Limit    int         // so many are enough; 0 if that is not known
	Expiry   bool        // the statement reads Document.Expiry, which is 0 without it
	// Each gets a document, which is valid until it returns. It reports whether more are wanted.
	Each func(d *Document) (more bool, err error)
}

// AppendRequest appends the request to Mango, in JSON.
func (f *Find) AppendRequest(b []byte) []byte {
	b = append(b, `{"selector":`...)
	if f.Selector == nil {
		b = append(b, `{}`...)
	} else {
		b = append(b, f.Selector...)
	}
	if len(f.Sort) > 0 {
		b = append(b, `,"sort":[`...)
		for i, s := range f.Sort {
			if i > 0 {
				b = append(b, ',')
			}
			b = ejson.AppendString(append(b, '{'), s.Field)
			if s.Descending {
				b = append(b, `:"desc"}`...)
			} else {
				b = append(b, `:"asc"}`...)
			}
		}
		b = append(b, ']')
	}
	limit := int64(1) << 40
	if f.Limit > 0 {
		limit = int64(f.Limit)
	}
	return append(strconv.AppendInt(append(b, `,"limit":`...), limit, 10), '}')
}

// DocumentOf parses a document of an answer of Mango into its id, revision and body.
func DocumentOf(text []byte) (d Document, err error) {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(text)
	if err != nil {
		return d, err
	}
	d.Exists = true
	b := []byte{'{'}
	for key, value := range v.Members() {
		switch name := key.Text(); {
		case name == "_id":
			d.ID = value.Text()
		case name == "_rev":
			d.Cas = value.Text()
		case len(name) > 0 && name[0] == '_':
		default:
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(ejson.AppendString(b, name), ':')
			b = value.AppendJSON(b)
		}
	}
	d.Body = append(b, '}')
	return d, nil
}

// SortField is a field that documents are sorted by, in the order of its bytes.
type SortField struct {
	Field      string
	Descending bool
}

// Expectation is what has to be so for a document to be written.
type Expectation uint8

// The expectations.
const (
	ExpectAny     Expectation = iota
	ExpectMissing             // the document does not exist
	ExpectCas                 // it exists and has the Write's Cas
)

// Write is a document to be written, or to be deleted.
type Write struct {
	ID     string
	Delete bool
	Body   []byte // a JSON object
	Expect Expectation
	Cas    string
	// Expiry is in Unix seconds, or in seconds from now if it is up to MaxRelativeExpiry; 0 for
	// none.
	Expiry int64
}

// MaxRelativeExpiry is the number of seconds up to which an expiration is counted from now, as in
// Couchbase: 30 days.
const MaxRelativeExpiry = 30 * 24 * 3600
