package compat

import (
	"bytes"
	"slices"
	"sync"

	"github.com/settee-db/settee/compat/ejson"
)

// DocRules are the rules for incoming documents, from the database and the configuration.
type DocRules struct {
	IDs               IDRules
	MaxSize           int64 // of the body, as Body.Size counts (couchdb/max_document_size); 0: any
	MaxAttachmentSize int64 // bytes (couchdb/max_attachment_size); 0: any
	// the documents get a new revision: ParseDocument makes it, or keeps Body.Term for it
	Edits     bool
	AnyParent bool // the edited revision may be set after parsing: no new revision is made yet
}

// ParseDocument reads a document from the wire. It makes CouchDB's checks in CouchDB's order: the
// special members in document order (couch_doc:from_json_obj), then the sizes
// (from_json_obj_validate), then the id once more by the rules of the database. Names of
// attachments and the presence of a revision are checked separately, because the real server does
// so later (ValidateAttachmentNames, RequireRev). The Document does not refer to v.
//
// Where Erlang's lists of integers pass for strings (`"_rev":[49,45,97]`), CouchDB takes them and
// ParseDocument does not; nor are depths beyond 64 bits possible here.
func ParseDocument(v ejson.Value, rules DocRules) (*Document, error) {
	if v.Kind() != ejson.Object {
		return nil, ErrDocNotAnObject
	}
	d := new(Document)
	var room *[]byte
	switch {
	case rules.Edits && rules.AnyParent: // the Term is kept
		room = new([]byte)
	case rules.Edits:
		room = terms.Get().(*[]byte)
	}
	body := newBodyBuilder(len(v.Raw()), room)
	var scratch [64]byte
	for key, value := range v.Members() {
		if name := specialName(key, scratch[:0]); name != nil {
			kept, err := d.special(string(name), value, rules.IDs)
			if err != nil {
				return nil, err
			}
			if !kept {
				continue
			}
		}
		body.add(key, value)
	}
	if err := body.finish(&d.Body); err != nil {
		return nil, err
	}
	if rules.MaxSize > 0 && d.Body.Size > rules.MaxSize {
		return nil, NewError(KindDocumentTooLarge, d.ID)
	}
	if err := d.checkAttachmentSizes(rules.MaxAttachmentSize); err != nil {
		return nil, err
	}
	if d.HasID {
		if err := ValidateDocID(d.ID, rules.IDs); err != nil {
			return nil, err
		}
	}
	if rules.Edits && !rules.AnyParent && len(d.Attachments) == 0 {
		d.Body.edit = bodyEdit{d.Rev(), d.Deleted, NewRev(d.Rev(), d.Deleted, d.Body.Term, nil)}
		if !bytes.Contains(d.Body.Term, negativeZero) {
			if *room = d.Body.Term[:0]; cap(*room) <= maxTermRoom {
				terms.Put(room)
			}
			d.Body.Term = nil
		}
	}
	return d, nil
}

// terms are buffers for Terms that are not kept, of at most maxTermRoom bytes.
var terms = sync.Pool{New: func() any { return new([]byte) }}

const maxTermRoom = 64 << 10

// negativeZero is in the Term of -0.0, which is printed as 0.0, so that the Term cannot be made
// again from the text.
var negativeZero = []byte("F\x80\x00\x00\x00\x00\x00\x00\x00")

// specialName returns the name of a member that begins with an underscore, nil for others.
func specialName(key ejson.Value, scratch []byte) []byte {
	if c := key.Raw()[1]; c != '_' && c != '\\' {
		return nil
	}
	name := key.TextBytes(scratch)
	if len(name) == 0 || name[0] != '_' {
		return nil
	}
	return name
}

// special takes one special member; kept tells that it stays in the body.
func (d *Document) special(name string, value ejson.Value, ids IDRules) (kept bool, err error) {
	switch name {
	case "_id":
		return false, d.setID(value, ids.MaxLength)
	case "_rev":
		return false, d.setRev(value)
	case "_revisions":
		if value.Kind() != ejson.Object {
			return false, badMember(name)
		}
		return false, d.setRevisions(value)
	case "_attachments":
		if value.Kind() != ejson.Object {
			return false, badMember(name)
		}
		d.Attachments, err = parseAttachments(value)
		return false, err
	case "_deleted":
		deleted, ok := value.Bool()
		if !ok {
			return false, badMember(name)
		}
		d.Deleted = deleted
		return false, nil
	// Members that a read adds are dropped, so that a document can be written back as it was read
	// (couch_doc:transfer_fields).
	case "_revs_info", "_local_seq", "_conflicts", "_deleted_conflicts":
		return false, nil
	// Written by the replicator and by CouchDB itself, and kept in the body.
	case "_access",
		"_replication_state",
		"_replication_state_time",
		"_replication_state_reason",
		"_replication_id",
		"_replication_stats":
		return true, nil
	}
	return false, badMember(name)
}

func badMember(name string) error {
	return NewError(KindDocValidation, "Bad special document member: "+name)
}

// setID takes the id of a body, which has to be a valid one as well.
func (d *Document) setID(value ejson.Value, maxLength int) error {
	if value.Kind() != ejson.String {
		return NewError(KindIllegalDocID, "Document id must be a string")
	}
	d.ID, d.HasID = value.Text(), true
	return validatePlainID(d.ID, maxLength)
}

// setRev takes `_rev`, unless `_revisions` came first.
func (d *Document) setRev(value ejson.Value) error {
	if d.Revs.Start != 0 || len(d.Revs.IDs) > 0 {
		return nil
	}
	if value.Kind() != ejson.String {
		return ErrInvalidRev
	}
	rev, err := ParseRev(value.Text())
	if err != nil {
		return err
	}
	d.Revs = RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	return nil
}

// setRevisions reads `_revisions`, newest hash first. The errors, misspelt ones too, are those of
// couch_doc.
func (d *Document) setRevisions(value ejson.Value) error {
	startValue, _ := value.Get("start")
	ids, _ := value.Get("ids")
	start, ok := startValue.Int()
	if !ok || !validPos(start) {
		return NewError(KindDocValidation, "_revisions.start isn't an integer.")
	}
	if ids.Kind() != ejson.Array {
		return NewError(KindDocValidation, "_revisions.ids isn't a array.")
	}
	path := RevPath{Start: start, IDs: make([]string, 0, ids.Len())}
	for id := range ids.Elements() {
		if id.Kind() != ejson.String {
			return NewError(KindDocValidation, "RevId isn't a string")
		}
		hash, ok := ParseRevHash(id.Text())
		switch {
		case !ok:
			return NewError(KindDocValidation, "RevId isn't a valid hexadecimal")
		case start < 0: // CouchDB still takes one of 32 digits (couch_doc:parse_revid/2)
			return NewError(KindDocValidation, "RevId isn't a string")
		}
		path.IDs = append(path.IDs, hash)
	}
	d.Revs = path
	return nil
}

// RequireRev is the check of writes with new_edits=false (chttpd_db:validate_revs).
func (d *Document) RequireRev() error {
	if len(d.Revs.IDs) == 0 {
		return NewError(KindBadRequest, "When `new_edits: false`, the document needs `_rev` or `_revisions` specified")
	}
	return nil
}

// ValidateAttachmentNames checks the names of all attachments
// (chttpd_db:validate_attachment_names).
func (d *Document) ValidateAttachmentNames() error {
	for i := range d.Attachments {
		if err := ValidateAttachmentName(d.Attachments[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// bodyBuilder makes the Body member by member.
type bodyBuilder struct {
	json    []byte
	term    []byte // nil when not wanted
	size    int64
	members int
	err     error
}

// newBodyBuilder begins a body for a source of that many bytes; with a room also its Term, which is
// made there if it is large enough.
func newBodyBuilder(sourceSize int, room *[]byte) bodyBuilder {
	b := bodyBuilder{json: append(make([]byte, 0, sourceSize), '{')}
	if room != nil {
		// The count of members is filled in at the end.
		b.term = ejson.AppendTermTuple(slices.Grow((*room)[:0], sourceSize+sourceSize/2+32), 1)
		b.term = ejson.AppendTermList(b.term, 1)
	}
	return b
}

// add appends a member to the body. Three things are made in one pass: the canonical JSON text, its
// size as couch_ejson_size counts it, and the Erlang term whose hash the revision depends on, which
// only edits need.
func (b *bodyBuilder) add(key, value ejson.Value) {
	if b.members > 0 {
		b.json = append(b.json, ',')
	}
	b.members++
	b.json = key.AppendJSON(b.json)
	b.json = append(b.json, ':')
	b.json = value.AppendJSON(b.json)
	keySize, _ := key.EncodedSize()
	valueSize, err := value.EncodedSize()
	if err != nil {
		b.err = ErrBadArith
	}
	b.size += keySize + valueSize + 2
	if b.term != nil && b.err == nil {
		b.term = ejson.AppendTermTuple(b.term, 2)
		b.term = key.AppendTerm(b.term)
		b.term = value.AppendTerm(b.term)
	}
}

// finish closes the object. The number of members is known only now: the head of the term, for
// which newBodyBuilder wrote a placeholder, is written over it.
func (b *bodyBuilder) finish(body *Body) error {
	if b.err != nil {
		return b.err
	}
	body.JSON = append(b.json, '}')
	body.Size = 1 + b.size
	if b.members == 0 {
		body.Size = 2
	}
	if b.term != nil {
		head := ejson.AppendTermList(ejson.AppendTermTuple(b.term[:0], 1), b.members)
		if b.members == 0 {
			body.Term = head
		} else {
			body.Term = ejson.AppendTermNil(b.term)
		}
	}
	return nil
}

// NewBody makes the Body of a stored canonical object, for an edit that takes over what is stored.
func NewBody(json []byte) (Body, error) {
	v, err := ejson.Parse(json)
	if err != nil {
		return Body{}, ErrInvalidJSON
	}
	builder := newBodyBuilder(len(json), new([]byte))
	for key, value := range v.Members() {
		builder.add(key, value)
	}
	var body Body
	return body, builder.finish(&body)
}
