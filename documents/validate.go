package documents

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// writer is who writes documents, in the context of a write. Writes without one are the server's
// own and pass.
type writer struct {
	who     principal.Principal
	dbAdmin bool
	designs bool // design documents are written
	// iterations is the cost of the server's own hashes.
	iterations int64
	// streamed is the attachment that the request uploads by itself, "" for none.
	streamed string
	// attachmentsOnly is WriteOptions.AttachmentsOnly.
	attachmentsOnly bool
	checks          designChecks
	store           *Store // counts what validate_doc_update refuses
}

type writerKey struct{}

// WriterOf is the name of the principal that writes with ctx, "" for one without a name and for
// what the server writes.
func WriterOf(ctx context.Context) string {
	if w, _ := ctx.Value(writerKey{}).(*writer); w != nil {
		return w.who.Name
	}
	return ""
}

// asWriter names the principal to the validator.
func (d *Database) asWriter(ctx context.Context, docs []*compat.Document, o WriteOptions) (context.Context, error) {
	w := &writer{
		who: d.who, streamed: o.streamed, attachmentsOnly: o.AttachmentsOnly, iterations: d.rules.Hashing.Iterations,
		store: d.store,
	}
	for _, doc := range docs {
		w.designs = w.designs || compat.IsDesignID(doc.ID)
	}
	if d.who.IsAdmin() {
		w.dbAdmin = true
	} else if w.designs || d.isUsers() {
		var err error
		if w.dbAdmin, err = d.Access().IsAdmin(ctx); err != nil {
			return nil, err
		}
	}
	if w.designs && w.dbAdmin {
		var err error
		if w.checks, err = d.checkDesigns(ctx, docs); err != nil {
			return nil, err
		}
	}
	return context.WithValue(ctx, writerKey{}, w), nil
}

// validator is the storage.BatchValidator of a server: a list of rules, each of which says for a
// transaction whether it is in force, and the functions of design documents.
type validator struct {
	// Rules that look at one document, in the order in which CouchDB asks them: the first that
	// refuses gives the error.
	rules   []rule
	designs *designValidator
}

// rule returns its check for a transaction, nil if it is not in force.
type rule func(ctx context.Context, tx *storage.Tx) (storage.ValidateFunc, error)

// NewValidator returns the checks of document writes, to be given to the store's hooks. designs
// checks design documents; pool runs validation functions; without one they refuse every write.
func NewValidator(c *config.Config, designs DesignChecker, pool *js.Pool) storage.BatchValidator {
	return validator{designs: newDesignValidator(c, designs, pool), rules: []rule{
		designRule,
		designSyntax(designs),
		func(ctx context.Context, tx *storage.Tx) (storage.ValidateFunc, error) {
			if tx.Name() != c.String("chttpd_auth", "authentication_db") {
				return nil, nil
			}
			return userRule(tx), nil
		},
	}}
}

// PrepareBatch implements storage.BatchValidator.
func (v validator) PrepareBatch(ctx context.Context, tx *storage.Tx) (storage.ValidateBatchFunc, error) {
	return v.designs.prepare(ctx, tx)
}

// Prepare implements storage.Validator.
func (v validator) Prepare(ctx context.Context, tx *storage.Tx) (storage.ValidateFunc, error) {
	var active []storage.ValidateFunc
	for _, r := range v.rules {
		check, err := r(ctx, tx)
		if err != nil {
			return nil, err
		}
		if check != nil {
			active = append(active, check)
		}
	}
	switch len(active) {
	case 0:
		return nil, nil
	case 1:
		return active[0], nil
	}
	return func(ctx context.Context, edit, parent *docread.Document) error {
		for _, check := range active {
			if err := check(ctx, edit, parent); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// designRule lets only admins of the database write design documents
// (couch_db:validate_doc_update).
func designRule(ctx context.Context, _ *storage.Tx) (storage.ValidateFunc, error) {
	w, _ := ctx.Value(writerKey{}).(*writer)
	if w == nil || !w.designs || w.dbAdmin {
		return nil, nil
	}
	return func(_ context.Context, edit, _ *docread.Document) error {
		if !compat.IsDesignID(edit.ID) {
			return nil
		}
		return needsAdmin(w.who)
	}, nil
}

// userRule is checkUser, from which administrators of the server are exempt while the database has
// no built-in design document. In CouchDB everybody is exempt then, since its rules are in that
// document alone.
func userRule(tx *storage.Tx) storage.ValidateFunc {
	return func(ctx context.Context, edit, parent *docread.Document) error {
		refused := checkUser(ctx, edit, parent)
		from, _ := ctx.Value(writerKey{}).(*writer)
		if refused == nil || from == nil || !from.who.IsAdmin() {
			return refused
		}
		designs, err := tx.DesignDocs()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(designs, func(d docread.DocRef) bool { return d.ID == authDesignID }) {
			return refused
		}
		return nil
	}
}

// checkUser is the check of user documents. Design documents are not subject to it, as none are to
// validation functions.
func checkUser(ctx context.Context, edit, parent *docread.Document) error {
	if compat.IsDesignID(edit.ID) {
		return nil
	}
	w := principal.Writer{ServerAdmin: true, DBAdmin: true}
	if from, _ := ctx.Value(writerKey{}).(*writer); from != nil {
		w = principal.Writer{
			Name:          from.who.Name,
			ServerAdmin:   from.who.IsAdmin(),
			DBAdmin:       from.dbAdmin,
			MaxIterations: from.iterations,
		}
	}
	doc, err := ejson.Parse(edit.Body)
	if err != nil {
		return err
	}
	var old ejson.Value
	if parent != nil {
		if old, err = ejson.Parse(parent.Body); err != nil {
			return err
		}
	}
	return principal.CheckUserDoc(edit.ID, edit.Deleted, doc, old, w)
}
