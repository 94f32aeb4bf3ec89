package documents

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
)

// The refusals of those who may not use a database, or not as they want.
var (
	ErrNotServerAdmin = compat.NewError(compat.KindUnauthorized, "You are not a server admin.")
	errNotAdmin       = compat.NewError(compat.KindUnauthorized, "You are not a server or db admin.")
)

// AdminsOnly reports whether a database is for server admins alone: names with a leading underscore
// are, but for _users and _replicator, of which all documents together, as lists and feeds show
// them, still are (chttpd_auth_request:authorize_request_int).
func AdminsOnly(name string, all bool) bool {
	return name != "" && name[0] == '_' && (all || name != "_users" && name != "_replicator")
}

// Authorize refuses those who may not use the database; all says that they want all documents, as
// lists and feeds show them. It is asked once, before anything else. The error is
// compat.ErrNoDatabase if there is no such database, but for those who may not even know that.
func (d *Database) Authorize(ctx context.Context, all bool) error {
	if d.who.IsAdmin() {
		return nil
	}
	if AdminsOnly(d.Name(), all) {
		return ErrNotServerAdmin
	}
	return d.CheckMember(ctx)
}

// CheckMember refuses those who are no members of the database by its _security. The error is
// compat.ErrNoDatabase if there is none.
func (d *Database) CheckMember(ctx context.Context) error {
	s, err := d.rights(ctx)
	if err != nil {
		return err
	}
	return s.CheckMember(d.who.Name, d.who.Roles)
}

// CheckAdmin refuses those who are no admins of the database by its _security; see CheckMember.
func (d *Database) CheckAdmin(ctx context.Context) error {
	if err := d.CheckMember(ctx); err != nil {
		return err
	}
	if admin, err := d.IsAdmin(ctx); admin || err != nil {
		return err
	}
	return errNotAdmin
}

// NeedAdmin refuses those who are no admins of the database as writes of design documents do;
// members only come here.
func (d *Database) NeedAdmin(ctx context.Context) error {
	if admin, err := d.IsAdmin(ctx); admin || err != nil {
		return err
	}
	return needsAdmin(d.who)
}

// needsAdmin is the refusal of somebody who is no admin (couch_db:check_is_admin).
func needsAdmin(who principal.Principal) error {
	kind := compat.KindForbidden
	if who.Name == "" {
		kind = compat.KindUnauthorized
	}
	return compat.NewError(kind, "You are not a db or server admin.")
}

// IsAdmin reports whether the principal is an admin of the database. Server admins are.
func (d *Database) IsAdmin(ctx context.Context) (bool, error) {
	if d.who.IsAdmin() {
		return true, nil
	}
	s, err := d.rights(ctx)
	if err != nil {
		return false, err
	}
	return s.IsAdmin(d.who.Name, d.who.Roles), nil
}

// CheckQuery keeps everybody but admins from what is computed from documents that they may not see:
// the views of the users database (fabric:query_view).
func (d *Database) CheckQuery(ctx context.Context) error {
	if !d.Hides() {
		return nil
	}
	if admin, err := d.IsAdmin(ctx); admin || err != nil {
		return err
	}
	return errUsersDesign
}

// Require makes sure that the database exists, unless its _security was read already. The error is
// compat.ErrNoDatabase.
func (d *Database) Require(ctx context.Context) error {
	if d.exists || d.security != nil {
		return nil
	}
	exists, err := d.db.Exists(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return compat.ErrNoDatabase
	}
	d.exists = true
	return nil
}

// rights reads the database's _security, once.
func (d *Database) rights(ctx context.Context) (*compat.Security, error) {
	if d.security != nil {
		return d.security, nil
	}
	s, err := d.db.Settings().Rights(ctx)
	if err != nil {
		return nil, err
	}
	d.security = s
	return d.security, nil
}
