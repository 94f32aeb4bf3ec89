package patch

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// special is the part of a merge patch that concerns special members: the revision, the deletion,
// and attachments to remove.
type special struct {
	deleted   bool
	detached  map[string]bool
	detachAll bool
}

func (s *special) applyTo(r *Result) {
	r.Deleted, r.Detached, r.DetachedAll = s.deleted, s.detached, s.detachAll
}

// detach takes an attachment away.
func (s *special) detach(name string) {
	if s.detached == nil {
		s.detached = make(map[string]bool)
	}
	s.detached[name] = true
}

// isSpecial reports whether a member of a document is not the patch's to change.
func isSpecial(name string) bool { return strings.HasPrefix(name, "_") }

func badMember(name string) error {
	return compat.NewError(compat.KindDocValidation, "Bad special document member: "+short(name))
}

// parseSpecial reads the special members of a merge patch: _rev names the revision to be changed,
// _deleted makes a tombstone, and attachments are taken away by null.
func (p *Patch) parseSpecial(name string, value ejson.Value) error {
	switch name {
	case "_rev":
		if value.Kind() != ejson.String {
			return compat.ErrInvalidRev
		}
		var err error
		p.Rev, err = compat.ParseRev(value.Text())
		p.HasRev = true
		return err
	case "_deleted":
		deleted, ok := value.Bool()
		if !ok && !value.IsNull() {
			return badMember(name)
		}
		p.special.deleted = deleted
		return nil
	case "_attachments":
		if value.IsNull() {
			p.special.detachAll = true
			return nil
		}
		if value.Kind() != ejson.Object {
			return badMember(name)
		}
		for key, stub := range value.Members() {
			if !stub.IsNull() {
				return badMember(name)
			}
			p.special.detach(key.Text())
		}
		return nil
	}
	return badMember(name)
}
