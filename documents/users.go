package documents

import (
	"context"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage/docread"
)

// This file is about the users database as a database: what happens to documents on their way in
// and out (couch_users_db). What a document may hold is checked in its transaction (validate.go);
// who may log in with it is not the business of this package.

// errUsersDesign refuses what only admins may see of the users database: its design documents and
// views.
var errUsersDesign = compat.NewError(compat.KindForbidden,
	"Only administrators can view design docs in the users database.")

// usersDB is a users database: what is written to it, and what is shown of it.
type usersDB struct{ d *Database }

// isUsers reports whether the database has the rules for user documents: the one of the logins has,
// and those that are named like it.
func (d *Database) isUsers() bool {
	name := d.Name()
	return name == d.rules.UsersDB || name == "_users" || strings.HasSuffix(name, "/_users")
}

// owns reports whether a document is the principal's own user document.
func (u usersDB) owns(id string) bool {
	return u.d.who.Name != "" && id == principal.DocPrefix+u.d.who.Name
}

// CheckQuery keeps everybody but admins from what is computed from documents that they may not see:
// the views of the users database (fabric:query_view).
func (d *Database) CheckQuery(ctx context.Context) error {
	if !d.Hides() {
		return nil
	}
	if admin, err := d.Access().IsAdmin(ctx); admin || err != nil {
		return err
	}
	return errUsersDesign
}

// prepare hashes passwords, and lets nobody write another user's document
// (couch_users_db:before_doc_update).
func (u usersDB) prepare(ctx context.Context, docs []*compat.Document) error {
	admin, err := u.d.Access().IsAdmin(ctx)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if !admin && u.d.who.Name != "" && doc.ID != principal.DocPrefix+u.d.who.Name {
			return compat.ErrMissing
		}
	}
	for _, doc := range docs {
		body, err := ejson.Parse(doc.Body.JSON)
		if err != nil || !principal.HasPassword(body) {
			continue
		}
		var hashed []byte
		err = u.d.store.o.Verifier.Do(ctx, u.d.from.address(), func() (err error) {
			hashed, err = principal.HashDocument(body, u.d.rules.Hashing, u.d.rules.Passwords)
			return err
		})
		if err != nil {
			return err
		}
		if doc.Body, err = compat.NewBody(hashed); err != nil {
			return err
		}
	}
	return nil
}

// show removes from another user's document what is not public, except for admins
// (couch_users_db:after_doc_read).
func (u usersDB) show(ctx context.Context, doc *docread.Document) error {
	if u.owns(doc.ID) {
		return nil
	}
	if admin, err := u.d.Access().IsAdmin(ctx); admin || err != nil {
		return err
	}
	if compat.IsDesignID(doc.ID) {
		return errUsersDesign
	}
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	public, some := principal.PublicFields(body, u.d.rules.PublicFields)
	if !some {
		return compat.ErrMissing
	}
	doc.Body = public
	return nil
}
