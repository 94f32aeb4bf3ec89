package queries

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/views"
)

// This file answers users of databases with access for each document, who are shown the rows of
// views that their own principals have.

var (
	errNeedsPrincipal = compat.NewError(compat.KindQueryParse,
		"Reduced values are of one principal: send `principal`, one of your own in the words of _access, "+
			"or reduce=false.")
	errNoPrincipal  = compat.NewError(compat.KindQueryParse, "`principal` must be an entry of _access.")
	errNotOwn       = compat.NewError(compat.KindForbidden, "`principal` is none of your own.")
	errWholeByWhole = compat.NewError(compat.KindQueryParse,
		"`principal` is for views of design documents with options.access and _access [\"_users\"].")
)

// guard refuses users a view that is not kept by principal, before anything else is looked at, and
// in the same words one that there is not: what design documents there are, users see by their
// lists. A view that is not in a design document which the user sees is just missing. lookup is the
// error of the view's lookup, nil with a view.
func guard(c *call.Call, v *views.View, lookup error) error {
	some, err := c.Docs.Access().SeesSome(c.Context())
	if err != nil || !some {
		return err
	}
	who, err := c.Docs.Access().Who(c.Context())
	if err != nil {
		return err
	}
	if v != nil && v.ByPrincipal() && who.Has(access.Anyone) {
		return nil
	}
	e, ok := compat.AsError(lookup)
	if ok && e.Kind != compat.KindNotFound {
		return lookup
	}
	if ok && e.Is(ErrMissingView) {
		if _, err := c.DB.Open(c.Context(), c.DocID(), docread.OpenOptions{}); err == nil {
			return nil
		}
	}
	return views.ErrNotByPrincipal
}

// restrict makes a query one of the rows that the caller may see: a user's of those of the user's
// principals, or of the one that is named; an administrator's of all, but for `principal`.
func restrict(c *call.Call, v *views.View, o *params.ViewOptions) error {
	some, err := c.Docs.Access().SeesSome(c.Context())
	if err != nil || !some && o.Principal == nil {
		return err
	}
	who, err := access.Everybody, error(nil)
	if some {
		who, err = c.Docs.Access().Who(c.Context())
	} else if on, err := c.DB.Settings().Access(c.Context()); err != nil || !on {
		return err // in other databases the option means nothing
	}
	switch {
	case err != nil:
		return err
	case !v.ByPrincipal() && some:
		return views.ErrNotByPrincipal
	case !v.ByPrincipal():
		return errWholeByWhole
	case o.Principal == nil && v.Reduces(&o.Query):
		return errNeedsPrincipal
	case o.Principal == nil:
		o.Principals = slices.Collect(who.All())
		return nil
	}
	one := access.PrincipalOf(*o.Principal)
	switch {
	case one == "":
		return errNoPrincipal
	case !who.Has(one):
		return errNotOwn
	}
	o.Principals = []string{one}
	return nil
}

// hushed takes out of an error of a map or reduce function what it tells of documents, which may be
// those of others; administrators see it.
func (w *viewWriter) hushed(err error) error {
	e, ok := compat.AsError(err)
	if w.who == nil || !ok || e.Retry {
		return err
	}
	switch e.Kind {
	case compat.KindQueryParse, compat.KindForbidden, compat.KindNoDatabase,
		compat.KindInsufficientStorage:
		return err
	}
	plain := *e
	plain.Reason = "The view cannot be read; administrators are told why."
	return &plain
}
