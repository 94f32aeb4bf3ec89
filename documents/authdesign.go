package documents

import (
	"context"
	_ "embed"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// authDesignSource is the validation function of the users database: the rules of
// principal.CheckUserDoc, for clients and other servers that replicate the database. This server
// applies the Go ones.
//
//go:embed authdesign.js
var authDesignSource string

const authDesignID = "_design/_auth"

// EnsureAuthDesign makes sure that the users database has its design document, as CouchDB does when
// it opens it. Without the database it does nothing.
func EnsureAuthDesign(ctx context.Context, db *storage.DB) error {
	_, err := db.Open(ctx, authDesignID, docread.OpenOptions{Members: docread.NoMembers})
	if errors.Is(err, compat.KindNoDatabase) {
		return nil
	}
	if !errors.Is(err, compat.KindNotFound) {
		return err
	}
	text := ejson.AppendString([]byte(`{"language":"javascript","validate_doc_update":`), authDesignSource)
	body, err := compat.NewBody(append(text, '}'))
	if err != nil {
		return err
	}
	results, err := db.Update(ctx, []*compat.Document{{ID: authDesignID, HasID: true, Body: body}},
		storage.UpdateOptions{})
	if err == nil && results[0].Err != nil && !errors.Is(results[0].Err, compat.KindConflict) {
		err = results[0].Err
	}
	return err
}
