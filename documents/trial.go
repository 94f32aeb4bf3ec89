package documents

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
)

// Trial is a design document that is not stored, whose functions are tried with documents of the
// database. Nothing is written. The functions run in the workers, and with the limits, of stored
// ones, but in realms of their own.
type Trial struct {
	*js.Design
	Pool *js.Pool
	d    *Database
}

// Trial makes the functions of a design document callable. An error says that they are in another
// language than JavaScript, or that the server runs none.
func (f Designs) Trial(ddoc ejson.Value) (*Trial, error) {
	pool := f.d.store.o.JS
	if pool == nil {
		return nil, compat.NewError(compat.KindNotImplemented, "This server runs without JavaScript.")
	}
	if language, given := ddoc.Get("language"); given {
		if l, known := js.LanguageNamed(language.Text()); !known || l != js.JavaScript {
			return nil, compat.NewError(compat.KindBadRequest, "only functions in JavaScript can be tried")
		}
	}
	return &Trial{pool.Design(f.d.Name(), ddoc.AppendJSON(nil)), pool, f.d}, nil
}

// User prints the arguments userCtx and secObj of functions for a user who need not be the one who
// asks.
func (t *Trial) User(ctx context.Context, who principal.Principal) (user, security []byte, err error) {
	object, err := t.d.db.Settings().Security(ctx)
	return appendUser(nil, t.d.Name(), who), securityOf(object), err
}
