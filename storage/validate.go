package storage

import (
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
)

// validatedEdit is an edit on its way through a transaction: what it replaces and its attachments
// are known, it may be decided already.
type validatedEdit struct {
	decided bool
	pending bool       // the verdict is not known yet
	result  EditResult // of a decided one
	parent  *docread.Document
	atts    []compat.Attachment
	rev     compat.Rev   // the revision that validation sees
	named   *access.Edit // who the edit is for; nil in databases without access for each document
}

// view is the edit as validation functions see it.
func (v *validatedEdit) view(doc *compat.Document) *docread.Document {
	return &docread.Document{
		ID:          doc.ID,
		Rev:         v.rev,
		Deleted:     doc.Deleted,
		Body:        doc.Body.JSON,
		Attachments: v.atts,
		Revs:        doc.Revs,
	}
}

func (v *validatedEdit) decide(r EditResult) {
	v.decided, v.result = true, r
}

// validate asks the checks in force about edits that are not decided yet. The check for many is
// asked once.
func (m *editMode) validate(docs []*compat.Document, edits []*validatedEdit) error {
	if m.each == nil && m.many == nil {
		return nil
	}
	var batch []ValidatedEdit
	var asked []int
	for i, v := range edits {
		if v.decided {
			continue
		}
		view := v.view(docs[i])
		if m.each != nil {
			if err := m.each(m.ctx, view, v.parent); err != nil {
				if err := v.refuse(docs[i], err); err != nil {
					return err
				}
				continue
			}
		}
		if m.many != nil {
			batch, asked = append(batch, ValidatedEdit{view, v.parent, m.replicated}), append(asked, i)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	verdicts, err := m.many(m.ctx, batch)
	if err != nil {
		return err
	}
	for n, i := range asked {
		if verdicts[n] != nil {
			if err := edits[i].refuse(docs[i], verdicts[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse sorts what a check returned: ErrPending lets the edit wait for a result, a compat.Error
// refuses it, and any other error ends the transaction.
func (v *validatedEdit) refuse(doc *compat.Document, err error) error {
	if errors.Is(err, ErrPending) {
		v.pending = true
		return nil
	}
	ce, ok := compat.AsError(err)
	if !ok {
		return err
	}
	v.decide(refused(doc, ce))
	return nil
}
