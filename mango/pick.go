package mango

import (
	"bytes"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage/docread"
)

// picker reads of documents only what is asked for: the members of some names. Most of a body is
// passed over unread, which is what makes a scan of all documents fast.
type picker struct {
	whole   bool     // everything is asked for
	special bool     // some name begins with an underscore
	names   [][]byte // as they stand in canonical JSON, quotes included
}

// maxPicked is how many names are looked for in a body; with more of them reading it whole is
// faster.
const maxPicked = 64

// newPicker makes a picker of the members that fields, given by their paths, are in. A field
// without a name is the document.
func newPicker(paths []selector.Path) picker {
	names := selector.MembersOf(paths)
	// nil: some path is the document itself.
	if names == nil || len(names) > maxPicked {
		return picker{whole: true}
	}
	return picker{names: names, special: len(selector.InBodies(names)) < len(names)}
}

// members are what is asked for of bodies.
func (p *picker) members() docread.Members {
	if p.whole {
		return nil
	}
	return selector.InBodies(p.names)
}

// wants reports whether a member, whose name is given as it stands in the text, is looked at.
func (p *picker) wants(name []byte) bool {
	// There are at most 64 names, most of them of another length: a loop is faster than a hash.
	for _, have := range p.names {
		if bytes.Equal(have, name) {
			return true
		}
	}
	return false
}

// append appends an object with the members that are asked for, as a client would see them.
func (p *picker) append(dst []byte, d *docread.Document) []byte {
	if p.whole {
		return appendDocument(dst, d)
	}
	dst = append(dst, '{')
	empty := len(dst)
	if p.special {
		dst = p.appendSpecial(dst, d)
	}
	// Names are compared as they stand in the text. Stored bodies are canonical JSON, so that a
	// name has one form only.
	for name, value := range ejson.TextMembers(d.Body) {
		if p.wants(name) {
			if len(dst) > empty {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, name...), ':'), value...)
		}
	}
	return append(dst, '}')
}

// appendSpecial appends the members that are not in the body.
func (p *picker) appendSpecial(dst []byte, d *docread.Document) []byte {
	begin := len(dst)
	member := func(name string) bool {
		if !p.wants([]byte(name)) {
			return false
		}
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(append(dst, name...), ':')
		return true
	}
	if member(`"_id"`) {
		dst = ejson.AppendString(dst, d.ID)
	}
	if member(`"_rev"`) {
		dst = d.Rev.AppendJSON(dst)
	}
	// Conflicts are there only if the query asked for them; a document without any has an empty
	// list then and no member.
	if d.Conflicts != nil && member(`"_conflicts"`) {
		dst = compat.AppendRevs(dst, d.Conflicts)
	}
	if len(d.Attachments) > 0 && member(`"_attachments"`) {
		dst = append(dst, '{')
		views := stubs(d)
		for i := range views {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(ejson.AppendString(dst, views[i].Name), ':')
			dst = views[i].AppendJSON(dst)
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendDocument appends a document as answers show it: with attachments as stubs.
func appendDocument(dst []byte, d *docread.Document) []byte {
	return compat.AppendDocument(dst, &compat.DocumentView{
		ID: d.ID, Rev: d.Rev, Body: d.Body, Deleted: d.Deleted, Conflicts: d.Conflicts, Attachments: stubs(d),
	})
}

// stubs are a document's attachments as _attachments shows them without their data.
func stubs(d *docread.Document) []compat.AttachmentView {
	if len(d.Attachments) == 0 {
		return nil
	}
	views := make([]compat.AttachmentView, len(d.Attachments))
	for i := range d.Attachments {
		views[i].Attachment = &d.Attachments[i]
	}
	return views
}
