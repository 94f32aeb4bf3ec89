package documents

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
)

// DesignChecker checks design documents before they are stored; *views.Views is one.
type DesignChecker interface {
	// CheckDesign looks at the fields of a design document and compiles its functions. body is its
	// canonical JSON, tenant the name of the database, partitioned its kind.
	CheckDesign(ctx context.Context, tenant string, partitioned bool, body []byte) error
	// CompileRule reads the validate_doc_update of a design document where it is a selector, nil
	// where it is not: the function tells whether a change, an object of newDoc and oldDoc, may be
	// stored; several goroutines may call it. bytes is the memory that it takes; more than most is
	// an error, found before the memory is taken.
	CompileRule(ddoc ejson.Value, most int64) (valid func(change ejson.Value) bool, size int64, err error)
}

// designChecks are the outcomes of a request's checks, by the bodies: functions are compiled once,
// before the transaction that writes them, which may run several times.
type designChecks map[string]error

// checkDesigns checks the design documents that a request is about to write.
func (d *Database) checkDesigns(ctx context.Context, docs []*compat.Document) (designChecks, error) {
	rec, err := d.db.Settings().Record(ctx)
	if err != nil {
		return nil, err
	}
	checks := make(designChecks)
	for _, doc := range docs {
		if !compat.IsDesignID(doc.ID) {
			continue
		}
		check := d.store.o.Designs.CheckDesign(ctx, d.Name(), rec.Partitioned, doc.Body.JSON)
		if check == nil && rec.Access.On {
			check = designAccess(doc.Body.JSON)
		}
		checks[string(doc.Body.JSON)] = check
	}
	return checks, nil
}

var errDesignAccess = compat.Named(compat.KindBadRequest, "invalid_access",
	"_access of a design document is [\"_users\"] or none: its functions are for all or for administrators")

var errAccessOption = compat.NewError(
	compat.KindInvalidDesignDoc, "`options.access` field must have boolean type",
)

// designAccess refuses a design document that is for some users only, and an option access that is
// neither true nor false. What is no list at all the store refuses.
func designAccess(body []byte) error {
	ddoc, err := ejson.Parse(body)
	if err != nil {
		return err
	}
	options, _ := ddoc.Get("options")
	if option, ok := options.Get("access"); ok && option.Kind() != ejson.Bool {
		return errAccessOption
	}
	list, _, err := access.Parse(body)
	if err == nil && len(list) > 0 && !slices.Equal(list, []string{access.Anyone}) {
		return errDesignAccess
	}
	return nil
}

// designSyntax refuses design documents that do not pass the check (couch_db:validate_ddoc). Those
// that checkDesigns has not seen are checked in the transaction.
func designSyntax(checker DesignChecker) rule {
	return func(ctx context.Context, tx *storage.Tx) (storage.ValidateFunc, error) {
		w, _ := ctx.Value(writerKey{}).(*writer)
		if w == nil || !w.designs {
			return nil, nil
		}
		name, partitioned := tx.Name(), tx.Snapshot().Partitioned()
		return func(ctx context.Context, edit, _ *docread.Document) error {
			if !compat.IsDesignID(edit.ID) {
				return nil
			}
			if err, known := w.checks[string(edit.Body)]; known {
				return err
			}
			return checker.CheckDesign(ctx, name, partitioned, edit.Body)
		}, nil
	}
}
