package eventing

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
)

// anyDesign accepts all design documents.
type anyDesign struct{}

// CheckDesign implements documents.DesignChecker.
func (anyDesign) CheckDesign(context.Context, string, bool, []byte) error { return nil }

// CompileRule implements documents.DesignChecker.
func (anyDesign) CompileRule(
	ddoc ejson.Value, most int64,
) (valid func(change ejson.Value) bool, size int64, err error) {
	if rule, _ := ddoc.Get("validate_doc_update"); rule.Kind() == ejson.Object {
		return mango.Views{}.CompileRule(rule, most)
	}
	return nil, 0, nil
}

// newDocuments makes the documents of a store under the usual rules, and sets the store's hooks:
// validation functions run in pool.
func newDocuments(t testing.TB, store *storage.Store, indexer storage.Indexer, pool *js.Pool) *documents.Store {
	t.Helper()
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	store.SetHooks(storage.Hooks{Validator: documents.NewValidator(c, anyDesign{}, pool), Indexer: indexer})
	uuids, err := compat.NewUUIDs(compat.UUIDOptions{})
	require.NoError(t, err)
	rules := &documents.Rules{
		MaxDocIDLength: 1 << 20, MaxDocumentSize: 8 << 20, MaxAttachmentSize: 1 << 20,
		UUIDs: uuids, UsersDB: "_users", MaxLookedUpIDs: 100,
		Hashing:   principal.Hashing{Scheme: principal.SchemePBKDF2, PRF: "sha256", Iterations: 1},
		Passwords: &principal.Policy{},
	}
	return documents.New(documents.Options{
		Store: store, Designs: anyDesign{}, JS: pool, Log: slog.New(slog.DiscardHandler),
		Verifier:         principal.NewVerifier(func(bool) {}),
		Rules:            func() *documents.Rules { return rules },
		CheckReplication: func(ejson.Value) error { return nil },
		UsersChanged:     func() {}, Read: func(int) {}, Written: func(int, int, int) {},
		Evaluated: func(int) {}, Rejected: func() {},
	})
}
