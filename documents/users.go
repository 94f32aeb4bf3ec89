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

// isUsers reports whether the database has the rules for user documents: the one of the logins has,
// and those that are named like it.
func (d *Database) isUsers() bool {
	name := d.Name()
	return name == d.rules.UsersDB || name == "_users" || strings.HasSuffix(name, "/_users")
}

// owns reports whether a document is the principal's own user document.
func (d *Database) owns(id string) bool {
	return d.who.Name != "" && id == principal.DocPrefix+d.who.Name
}

// prepareUsers hashes passwords, and lets nobody write another user's document
// (couch_users_db:before_doc_update).
func (d *Database) prepareUsers(ctx context.Context, docs []*compat.Document) error {
	admin, err := d.IsAdmin(ctx)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if !admin && d.who.Name != "" && doc.ID != principal.DocPrefix+d.who.Name {
			return compat.ErrMissing
		}
	}
	for _, doc := range docs {
		body, err := ejson.Parse(doc.Body.JSON)
		if err != nil || !principal.HasPassword(body) {
			continue
		}
		var hashed []byte
		err = d.store.o.Verifier.Do(ctx, d.address(), func() (err error) {
			hashed, err = principal.HashDocument(body, d.rules.Hashing, d.rules.Passwords)
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

// showUser leaves of another user's document what is public, to all but admins
// (couch_users_db:after_doc_read).
func (d *Database) showUser(ctx context.Context, doc *docread.Document) error {
	if d.owns(doc.ID) {
		return nil
	}
	if admin, err := d.IsAdmin(ctx); admin || err != nil {
		return err
	}
	if compat.IsDesignID(doc.ID) {
		return errUsersDesign
	}
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	public, some := principal.PublicFields(body, d.rules.PublicFields)
	if !some {
		return compat.ErrMissing
	}
	doc.Body = public
	return nil
}
