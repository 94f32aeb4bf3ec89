package eventing

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// replaced is what a write replaces, as far as the revision that the write makes depends on it; the
// zero value if there is nothing.
type replaced struct {
	rev         compat.Rev
	deleted     bool
	attachments []compat.RevAttachment // that the write keeps
}

// by is the revision that a document makes of it, as storage makes it.
func (p *replaced) by(doc *compat.Document) compat.Rev {
	switch {
	case doc.Deleted:
		return doc.NewRev(nil)
	case p.deleted:
		return doc.RecreatedRev(p.rev, 0)
	}
	return doc.NewRev(p.attachments)
}

// parsedCopies is about how many times the length of a body is taken while its revision is made:
// its text, the text as it is stored, and what is hashed.
const parsedCopies = 4

// revision tells which revision a body will be of a document that the batch writes. It is a hash of
// the body and of what it replaces, so it is known before; the commit makes that one, or the
// handlers run again. Zero: the write will be refused, so that they do anyway.
func (b *batch) revision(ctx context.Context, key docKey, body []byte) (rev compat.Rev, err error) {
	state, err := b.read(ctx, key)
	if err != nil {
		return rev, err
	}
	d, err := b.database(ctx, key.database)
	if err != nil {
		return rev, err
	}
	if state.replaces == nil {
		var p replaced
		err := d.Bare().ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
			p, err = replacedIn(s, key.id)
			return err
		})
		if err != nil {
			return rev, err
		}
		if err := b.holding.take(ctx, p.size()); err != nil {
			return rev, err
		}
		state.replaces = &p
	}
	copies := parsedCopies * int64(len(body))
	if err := b.holding.take(ctx, copies); err != nil {
		return rev, err
	}
	defer b.holding.give(copies)
	parser := newEditParser()
	edit, err := parser.edit(ctx, d, key, &docState{read: true, rev: state.rev, after: body})
	if _, refused := compat.AsError(err); refused {
		return rev, nil
	}
	if err != nil {
		return rev, err
	}
	return state.replaces.by(edit.Doc), nil
}

// replacedIn reads what a write of a document replaces.
func replacedIn(s *storage.Snapshot, id string) (p replaced, err error) {
	doc, err := s.Open(id, docread.OpenOptions{Deleted: true, Members: docread.NoMembers})
	if errors.Is(err, compat.KindNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.rev, p.deleted = doc.Rev, doc.Deleted
	for i := range doc.Attachments {
		a := &doc.Attachments[i]
		p.attachments = append(p.attachments, compat.RevAttachment{Name: a.Name, Type: a.Type, MD5: a.Digest})
	}
	return p, nil
}

// size is about how much memory it takes, in bytes.
func (p *replaced) size() (n int64) {
	for i := range p.attachments {
		n += int64(len(p.attachments[i].Name)+len(p.attachments[i].Type)) + 64
	}
	return n
}
