package functions

import (
	"context"
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// Server admins manage all functions. Others manage those whose databases are theirs: they are
// admins of the source and of all that the function may write, and members of what it may read.

var (
	errNotSignedIn = definition.Errorf(definition.CodeUnauthenticated, "Name and password are needed")
	errForbidden   = definition.Errorf(definition.CodeForbidden, "You have to be a server admin, or an admin of the "+
		"function's source and of all databases that it may write, and a member of those that it may read")
	errNotServerAdmin = definition.Errorf(definition.CodeForbidden, "You are not a server admin")
)

// requireUser refuses anonymous requests.
func requireUser(c *call.Call) error {
	if c.User.Name == "" && !c.User.IsAdmin() {
		return errNotSignedIn
	}
	return nil
}

// requireAdmin refuses everybody but server admins.
func requireAdmin(c *call.Call) error {
	if err := requireUser(c); err != nil || c.User.IsAdmin() {
		return err
	}
	return errNotServerAdmin
}

// owner is who asks, as the registry keeps it.
func owner(c *call.Call) registry.Principal {
	external := c.IdentifiedBy == "proxy" || c.IdentifiedBy == "jwt"
	return registry.Principal{Name: c.User.Name, Roles: slices.Clone(c.User.Roles), External: external}
}

// database is a database as the user sees it.
func database(c *call.Call, name string) *documents.Database {
	return c.Env.Docs.Database(name, c.User,
		documents.Origin{Rules: &c.Settings.Rules, Address: c.Peer, Request: c.ID, Memory: c.Outgoing})
}

// mayManage returns an error unless the user may manage the function. What N1QL statements of its
// code write to counts as well as its bindings.
func mayManage(c *call.Call, f *definition.Function, queries ...string) error {
	if err := requireUser(c); err != nil || c.User.IsAdmin() {
		return err
	}
	for _, name := range slices.Concat([]string{f.Bindings.SourceBucket}, f.Writes(), queries) {
		if err := mayUse(c, name, (*documents.Access).CheckAdmin); err != nil {
			return err
		}
	}
	for _, name := range f.Reads() {
		if err := mayUse(c, name, (*documents.Access).CheckMember); err != nil {
			return err
		}
	}
	return nil
}

// mayUse applies check to a database. A database that does not exist can be used by server admins
// only.
func mayUse(c *call.Call, name string, check func(*documents.Access, context.Context) error) error {
	if documents.AdminsOnly(name, true) {
		return errForbidden
	}
	err := check(database(c, name).Access(), c.Context())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, compat.KindUnauthorized), errors.Is(err, compat.KindForbidden),
		errors.Is(err, compat.KindNoDatabase):
		return errForbidden
	}
	return err
}

// mayManageRecord applies mayManage to both versions of a function, the deployed and the edited
// one.
func mayManageRecord(c *call.Call, r *registry.Record) error {
	if err := mayManage(c, r.Draft); err != nil || r.Deployed == nil || r.Deployed == r.Draft {
		return err
	}
	return mayManage(c, r.Deployed, r.Queries...)
}

// userFunctions are the functions of a registry as far as the user of a call may manage them. It is
// the only way from a request to a record, so that no handler forgets to ask for the right.
type userFunctions struct{ registry *registry.Registry }

// managed returns a function that the user may manage. Anonymous requests are refused first; for
// everybody else a function that does not exist is the error missing.
func (u *userFunctions) managed(c *call.Call, ref definition.Ref, missing definition.Code) (*registry.Record, error) {
	if err := requireUser(c); err != nil {
		return nil, err
	}
	r, err := u.registry.Get(c.Context(), ref)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, definition.Errorf(missing, "Function: %s not found", ref)
	}
	return r, mayManageRecord(c, r)
}

// byPath is the function that the path names.
func (u *userFunctions) byPath(c *call.Call) (*registry.Record, error) {
	ref, err := pathRef(c)
	if err != nil {
		return nil, err
	}
	return u.managed(c, ref, definition.CodeNotFound)
}

// all are the functions that the user may manage.
func (u *userFunctions) all(c *call.Call) ([]*registry.Record, error) {
	if err := requireUser(c); err != nil {
		return nil, err
	}
	list, _, err := u.registry.List(c.Context())
	if err != nil {
		return nil, err
	}
	mine := make([]*registry.Record, 0, len(list))
	for _, r := range list {
		switch err := mayManageRecord(c, r); {
		case err == nil:
			mine = append(mine, r)
		case !errors.Is(err, errForbidden):
			return nil, err
		}
	}
	return mine, nil
}
