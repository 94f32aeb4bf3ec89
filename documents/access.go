package documents

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage/access"
)

// The refusals of those who may not use a database, or not as they want.
var (
	ErrNotServerAdmin = compat.NewError(compat.KindUnauthorized, "You are not a server admin.")
	errNotAdmin       = compat.NewError(compat.KindUnauthorized, "You are not a server or db admin.")
)

// AdminsOnly reports whether a database is for server admins alone: names with a leading underscore
// are, except _users and _replicator. Of these two, requests for all documents, as lists and feeds
// are, still are for admins alone (chttpd_auth_request:authorize_request_int).
func AdminsOnly(name string, all bool) bool {
	return name != "" && name[0] == '_' && (all || name != "_users" && name != "_replicator")
}

// ServerOwn reports whether a database has rules of its own: that of the users, replicator
// databases, and what begins with an underscore.
func ServerOwn(name, usersDB string) bool {
	return AdminsOnly(name, true) || name == usersDB || compat.IsReplicatorDB(name)
}

// Access is what a principal may do with a database by its _security, which is read once. It is
// used by one goroutine at a time.
type Access struct {
	// The security object is read at most once for a request, when a question first needs it; the
	// answers stay the same until the request ends.
	d        *Database
	security *compat.Security // nil before it was read
	some     bool             // see SeesSome; false before security was read
	who      access.Principals
	exists   bool // the database was looked for
}

// Authorize refuses those who may not use the database; all says that the request is for all
// documents, as lists and feeds are. It is asked once, before anything else. The error is
// compat.ErrNoDatabase if there is no such database, except to those who may not even learn that.
func (a *Access) Authorize(ctx context.Context, all bool) error {
	if a.d.who.IsAdmin() {
		return nil
	}
	if AdminsOnly(a.d.Name(), all) {
		return ErrNotServerAdmin
	}
	return a.CheckMember(ctx)
}

// CheckMember refuses those who are no members of the database by its _security. The error is
// compat.ErrNoDatabase if there is none.
func (a *Access) CheckMember(ctx context.Context) error {
	s, err := a.rights(ctx)
	if err != nil {
		return err
	}
	roles := a.d.who.Roles
	if a.some && a.d.who.Name != "" {
		roles = append(slices.Clip(roles), signedIn)
	}
	return s.CheckMember(a.d.who.Name, roles)
}

// CheckAdmin refuses those who are no admins of the database by its _security; see CheckMember.
func (a *Access) CheckAdmin(ctx context.Context) error {
	if err := a.CheckMember(ctx); err != nil {
		return err
	}
	if admin, err := a.IsAdmin(ctx); admin || err != nil {
		return err
	}
	return errNotAdmin
}

// NeedAdmin refuses those who are no admins of the database as writes of design documents do; the
// caller has made sure that the principal is a member.
func (a *Access) NeedAdmin(ctx context.Context) error {
	if admin, err := a.IsAdmin(ctx); admin || err != nil {
		return err
	}
	return needsAdmin(a.d.who)
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
func (a *Access) IsAdmin(ctx context.Context) (bool, error) {
	if a.d.who.IsAdmin() {
		return true, nil
	}
	s, err := a.rights(ctx)
	if err != nil {
		return false, err
	}
	return s.IsAdmin(a.d.who.Name, a.d.who.Roles), nil
}

// Require makes sure that the database exists, unless its _security was read already. The error is
// compat.ErrNoDatabase.
func (a *Access) Require(ctx context.Context) error {
	if a.exists || a.security != nil {
		return nil
	}
	exists, err := a.d.db.Exists(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return compat.ErrNoDatabase
	}
	a.exists = true
	return nil
}

// SeesSome reports whether the principal sees only some of the documents: the database has access
// for each document, and the principal is none of its admins. See slice.go.
func (a *Access) SeesSome(ctx context.Context) (bool, error) {
	if a.d.who.IsAdmin() {
		return false, nil
	}
	_, err := a.rights(ctx)
	return a.some, err
}

// Who are the principals whose documents the principal sees, where those are only some.
func (a *Access) Who(ctx context.Context) (access.Principals, error) {
	_, err := a.rights(ctx)
	return a.who, err
}

// rights reads the database's _security, once, and cuts the database down to what the principal may
// see of it.
func (a *Access) rights(ctx context.Context) (*compat.Security, error) {
	if a.security != nil {
		return a.security, nil
	}
	var tooMany error
	s, err := a.d.db.Settings().Rights(ctx, func() (who access.Principals) {
		who, tooMany = principals(a.d.who)
		return who
	})
	if err != nil {
		return nil, err
	}
	if a.some, err = cut(a.d, &s); a.some && tooMany != nil {
		err = tooMany
	}
	if err != nil {
		return nil, err
	}
	a.security, a.who = s.Security, s.Who
	return s.Security, nil
}
