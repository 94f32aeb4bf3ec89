package lists

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
)

var errRoles = compat.NewError(compat.KindBadRequest, "`roles` must be a list of names of roles.")

// requireAccess refuses databases without access for each document, whose paths these are not.
func requireAccess(c *call.Call) error {
	rec, err := c.DB.Settings().Record(c.Context())
	if err == nil && !rec.Access.On {
		err = compat.ErrMissing
	}
	return err
}

// whoSees answers GET /{db}/_access/{id}: of each leaf of a document whom it is for, in the words of
// `_access`, and whether its own body says so. A tombstone whose body does not has the list of what it
// deletes, which nothing else shows. It is for administrators of the database.
func whoSees(c *call.Call) error {
	if err := requireAccess(c); err != nil {
		return err
	}
	id := c.Segment(2)
	s := c.Stream(http.StatusOK)
	b := ejson.AppendString(append(s.Buffer(), `{"id":`...), id)
	_ = s.Commit(append(b, `,"leaves":[`...)) // too little to be sent
	separator := ""
	q := &documents.ReadOptions{OpenRevsAll: true, Members: docread.Members{[]byte(`"_access"`)}}
	err := c.Docs.OpenRevs(c.Context(), id, q, func(revs []docread.RevResult) error {
		for _, r := range revs {
			b := r.Rev.AppendJSON(append(append(s.Buffer(), separator...), `{"rev":`...))
			separator = ","
			if r.Doc.Deleted {
				b = append(b, `,"deleted":true`...)
			}
			b = ejson.AppendStrings(append(b, `,"access":`...), access.Entries(r.Doc.Access))
			if _, own, _ := access.Parse(r.Doc.Body); !own && len(r.Doc.Access) > 0 {
				b = append(b, `,"inherited":true`...)
			}
			if err := s.Commit(append(b, '}')); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.End("]}")
}

// seenBy answers GET /{db}/_access/{user}/_all_docs?roles=: the list of all documents as the user of
// that name with these roles sees it, whether there is such a user or not. Its options and its form
// are those of _all_docs; who may not use the database at all is refused as that user would be. It is
// for administrators of the database, who see all of this anyway.
func seenBy(c *call.Call) error {
	if err := requireAccess(c); err != nil {
		return err
	}
	var names []string // of roles
	if text, given := c.Query.First("roles"); given {
		roles, err := ejson.Parse([]byte(text))
		if err != nil || roles.Kind() != ejson.Array {
			return errRoles
		}
		for role := range roles.Elements() {
			if role.Kind() != ejson.String {
				return errRoles
			}
			names = append(names, role.Text())
		}
	}
	c.Docs = documents.SeenBy(c.Docs, c.Segment(2), names)
	if err := c.Docs.Access().Authorize(c.Context(), true); err != nil {
		return err
	}
	return allDocs(c)
}
