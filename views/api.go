package views

import (
	"context"
	"errors"
)

var errUnfinished = errors.New("views: not built yet")

// CheckDesign checks a design document as CouchDB does when it is saved (couch_mrview:validate); body is its canonical JSON.
// The error is a *compat.Error: invalid_design_doc, compilation_error, ….
func (v *Views) CheckDesign(ctx context.Context, partitioned bool, body []byte) error {
	return errUnfinished
}
