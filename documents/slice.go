package documents

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
)

// Databases with access for each document: who is no administrator of one sees the documents, and
// leaves of documents, that name one of the user's principals, and nothing of the others. What
// belongs to whom is decided in the store (package storage/access), in one place: the storage.DB of
// a Database is cut down to the principal's slice, so that no caller can forget it. Until _security
// was read it is that of nobody, which has no documents.

// signedIn is the role that every user has who is somebody, in `_access` and in the `_security` of
// databases with access for each document.
const signedIn = "_users"

var (
	errTooManyRoles = compat.Named(compat.KindForbidden, "too_many_roles",
		"At most 64 roles of a user count where access is for each document.")
	errTooManyGroups = compat.Named(compat.KindForbidden, "too_many_groups",
		"At most 64 roles and groups of a user count where access is for each document.")
)

// principals are those of a user in databases with access for each document, without groups, which
// are a database's own.
func principals(who principal.Principal) (access.Principals, error) {
	roles := slices.Compact(slices.Sorted(slices.Values(who.Roles)))
	if len(roles) > access.MostOfUser {
		return access.Nobody, errTooManyRoles
	}
	if who.Name == "" {
		return access.Nobody, nil // whatever a proxy says of roles
	}
	return access.Of(who.Name, roles), nil
}

// SeenBy is a database as the user of a name sees it who has these roles, for the same request. The
// caller has made sure that its own principal may see all of that.
func SeenBy(d *Database, user string, roles []string) *Database {
	return d.store.Database(d.Name(), principal.Principal{Name: user, Roles: roles}, d.from)
}

// cut gives the principal the slice of a database with access for each document, all of it to its
// administrators; some tells that it is a slice.
func cut(d *Database, s *storage.Rights) (some bool, err error) {
	switch {
	case !s.PerDocument:
		return false, nil
	case s.IsAdmin(d.who.Name, d.who.Roles):
		d.db = d.db.As(access.Everybody)
		return false, nil
	case s.Who.Len() > access.MostOfUser+2: // besides the name, and everybody
		return true, errTooManyGroups
	}
	d.db = d.db.As(s.Who)
	return true, nil
}
