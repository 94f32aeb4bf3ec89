package server

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/migrate"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/storage"
)

// This file is about the users database as a database: what happens to documents on their way in and out (couch_users_db). Who may log
// in with them is the business of auth.go; what a document may hold is checked in its transaction (validate.go).

var errUsersDesign = compat.NewError(compat.KindForbidden, "Only administrators can view design docs in the users database.")

// isUsersDB tells the databases with rules for user documents: the one logins use, and those named like it.
func (c *Call) isUsersDB() bool {
	name := c.db.Name()
	return name == c.set.auth.usersDB || name == "_users" || strings.HasSuffix(name, "/_users")
}

// isDBAdmin tells whether the user is an admin of the call's database. Server admins are.
func (c *Call) isDBAdmin() (bool, error) {
	if c.user.IsAdmin() {
		return true, nil
	}
	rules, err := c.security()
	if err != nil {
		return false, err
	}
	return rules.IsAdmin(c.user.Name, c.user.Roles), nil
}

// updateDocs stores documents for the call's user: every write of documents goes through here.
func (c *Call) updateDocs(docs []*compat.Document, replicated bool) ([]storage.EditResult, error) {
	ctx, err := c.writerContext(docs)
	if err != nil {
		return nil, err
	}
	if c.isUsersDB() {
		if err := c.prepareUsers(docs); err != nil {
			return nil, err
		}
		defer c.srv.users.forget()
	}
	if c.isReplicatorDB() {
		if err := c.prepareReplications(docs); err != nil {
			return nil, err
		}
	}
	return c.db.Update(ctx, docs, storage.UpdateOptions{Replicated: replicated, Trusted: replicated && c.trusted()})
}

// trusted tells whether a server administrator asks for documents to be stored as they are, without asking validation functions:
// they were accepted elsewhere (settee migrate).
func (c *Call) trusted() bool { return c.user.IsAdmin() && c.Header(migrate.TrustedHeader) == "true" }

// prepareUsers hashes passwords, and lets nobody write another user's document (couch_users_db:before_doc_update).
func (c *Call) prepareUsers(docs []*compat.Document) error {
	admin, err := c.isDBAdmin()
	if err != nil {
		return err
	}
	for _, d := range docs {
		if !admin && c.user.Name != "" && d.ID != auth.DocPrefix+c.user.Name {
			return compat.ErrMissing
		}
	}
	for _, d := range docs {
		body, err := ejson.Parse(d.Body.JSON)
		if err != nil || !auth.HasPassword(body) {
			continue
		}
		var hashed []byte
		err = c.srv.verifier.Do(c.Context(), c.peer(), func() (err error) {
			hashed, err = auth.HashDocument(body, c.set.auth.hashing, &c.set.auth.policy)
			return err
		})
		if err != nil {
			return err
		}
		if d.Body, err = compat.NewBody(hashed); err != nil {
			return err
		}
	}
	return nil
}

// open reads a document for the call's user: every read of one document goes through here or through shown.
func (c *Call) open(id string, o storage.OpenOptions) (*storage.Document, error) {
	if !c.hidesDocs() {
		return c.db.Open(c.Context(), id, o)
	}
	o.NoBody = false
	if c.hidesReplications() {
		o.Revs = true
		d, err := c.db.Open(c.Context(), id, o)
		if err != nil {
			return nil, err
		}
		return d, c.shown(d)
	}
	d, err := c.db.Open(c.Context(), id, o)
	if _, wire := compat.AsError(err); wire && !c.owns(id) && !isNoDatabase(err) {
		return nil, compat.ErrMissing
	}
	if err != nil {
		return nil, err
	}
	return d, c.shown(d)
}

func isNoDatabase(err error) bool {
	e, ok := compat.AsError(err)
	return ok && e.Kind == compat.KindNoDatabase
}

// hidesDocs tells whether the user may not see every document of the database.
func (c *Call) hidesDocs() bool { return c.isUsersDB() && !c.user.IsAdmin() || c.hidesReplications() }

func (c *Call) owns(id string) bool { return c.user.Name != "" && id == auth.DocPrefix+c.user.Name }

// shown cuts a document of the users database down to what the user may see, or refuses it (couch_users_db:after_doc_read). Local documents,
// the checkpoints of replications, are not cut.
func (c *Call) shown(d *storage.Document) error {
	if !c.hidesDocs() || d == nil || c.isUsersDB() && c.owns(d.ID) || compat.IsLocalID(d.ID) {
		return nil
	}
	if c.hidesReplications() {
		return c.shownReplication(d)
	}
	if admin, err := c.isDBAdmin(); admin || err != nil {
		return err
	}
	if compat.IsDesignID(d.ID) {
		return errUsersDesign
	}
	body, err := ejson.Parse(d.Body)
	if err != nil {
		return err
	}
	public, some := auth.PublicFields(body, c.set.auth.publicFields)
	if !some {
		return compat.ErrMissing
	}
	d.Body = public
	return nil
}

// shownAll is shown for all revisions of a document; the refusal is what _bulk_get tells of it.
func (c *Call) shownAll(results []storage.RevResult) *compat.Error {
	for i := range results {
		if err := c.shown(results[i].Doc); err != nil {
			reason := err.Error()
			if e, ok := compat.AsError(err); ok {
				reason = e.Word()
			}
			return compat.Named(compat.KindUnknown, "internal_fabric_error", reason)
		}
	}
	return nil
}
