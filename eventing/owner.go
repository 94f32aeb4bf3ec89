package eventing

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/principal"
)

// Rights tell which roles a user has now; known is false for one who is not there any more.
type Rights func(ctx context.Context, name string) (roles []string, known bool, err error)

const (
	// ownerEvery is how often it is looked whether a function may run still, whether there are
	// events or not.
	ownerEvery = 2 * time.Second
	// rightsFor is how long a batch goes on with the rights that it has found.
	rightsFor = time.Second
)

// errStopped is why a function is paused without anybody asking for it.
type errStopped struct{ why string }

// Error implements error.
func (e errStopped) Error() string { return "eventing: " + e.why }

// principal is the owner of the function, with the roles of now. An owner whom a proxy or a token
// has identified keeps the roles of that time, because nobody here is told when they change.
func (f *function) principal(ctx context.Context) (principal.Principal, error) {
	o := f.record.Owner
	p := principal.Principal{Name: o.Name, Roles: o.Roles}
	if f.engine.rights == nil || o.External {
		return p, nil
	}
	roles, known, err := f.engine.rights(ctx, o.Name)
	if err == nil && !known {
		err = errStopped{"its owner " + o.Name + " is not there any more"}
	}
	p.Roles = roles
	return p, err
}

// mayRun gives the owner, who may still read the source; else the error is errStopped.
func (f *function) mayRun(ctx context.Context) (principal.Principal, error) {
	p, err := f.principal(ctx)
	if err == nil {
		_, err = openSource(ctx, f, p)
	}
	return p, err
}

// openSource gives the source as the owner sees it, which is all of it; else the error is
// errStopped.
func openSource(ctx context.Context, f *function, owner principal.Principal) (*documents.Database, error) {
	d := f.engine.docs.Database(f.source, owner, documents.Origin{})
	err := d.Access().Authorize(ctx, true)
	if errors.Is(err, compat.KindForbidden) || errors.Is(err, compat.KindUnauthorized) {
		err = errStopped{"its owner " + owner.Name + " may not read " + f.source + " any more"}
	}
	if err != nil {
		return d, err
	}
	if some, err := d.Access().SeesSome(ctx); err != nil || !some {
		return d, err
	}
	return d, errStopped{"its owner " + owner.Name + " sees only some of the documents of " + f.source}
}

// keepOwner returns when the owner may not run the function any more.
func (f *function) keepOwner(ctx context.Context) error {
	for {
		if err := sleep(ctx, ownerEvery); err != nil {
			return err
		}
		var gone errStopped
		if _, err := f.mayRun(ctx); errors.As(err, &gone) {
			return err
		}
	}
}

// ownerView is what the owner of a function may use, for the handlers of one batch.
type ownerView struct {
	f       *function
	holding *holding            // pays for what is read
	owner   principal.Principal // as they were when owned
	owned   time.Time
	dbs     map[string]*documents.Database
}

// database gives a database as the owner of the function sees it, with the rights that the owner
// has now. The error says why the owner may not use it.
func (v *ownerView) database(ctx context.Context, name string) (*documents.Database, error) {
	if err := v.lookAtOwner(ctx); err != nil {
		return nil, err
	}
	if d := v.dbs[name]; d != nil {
		return d, nil
	}
	d := v.f.engine.docs.Database(name, v.owner, documents.Origin{Memory: v.holding})
	if err := d.Access().Authorize(ctx, false); err != nil {
		return nil, err
	}
	if some, err := d.Access().SeesSome(ctx); err != nil || some {
		return nil, cmp.Or(err, error(errSlice))
	}
	v.dbs[name] = d
	return d, nil
}

// errSlice refuses a database of which the owner sees only some documents: handlers read snapshots.
var errSlice = compat.NewError(compat.KindForbidden,
	"This database has access for each document: event functions of its administrators alone use it.")

// lookAtOwner finds out, from time to time, which rights the handlers of a batch have.
func (v *ownerView) lookAtOwner(ctx context.Context) error {
	if !v.owned.IsZero() && time.Since(v.owned) < rightsFor {
		return nil
	}
	p, err := v.f.mayRun(ctx)
	if err == nil {
		v.owner, v.owned = p, time.Now()
		clear(v.dbs)
	}
	return err
}
