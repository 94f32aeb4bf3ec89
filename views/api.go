package views

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

var errUnfinished = errors.New("views: not built yet")

// Open makes the Views of a store. It has to become the store's Indexer (storage.Hooks) before documents are written.
func Open(o Options) (*Views, error) { return &Views{opts: o}, nil }

// Close ends running builds and waits for them.
func (v *Views) Close() error { return nil }

// Prepare is storage.Indexer's.
func (v *Views) Prepare(context.Context, *storage.Tx) (storage.IndexFunc, error) { return nil, nil }

// Purged is storage.PurgeIndexer's.
func (v *Views) Purged(context.Context, *storage.Tx, []string) error { return nil }

// CheckDesign checks a design document as CouchDB does when it is saved (couch_mrview:validate); body is its canonical JSON.
// The error is a *compat.Error: invalid_design_doc, compilation_error, ….
func (v *Views) CheckDesign(ctx context.Context, partitioned bool, body []byte) error {
	return errUnfinished
}

// View is one view of a design document, as it was when it was looked up. It is safe for concurrent use.
type View struct{}

// View looks a view up. The error is that of a missing design document, or 404 missing_named_view.
func (v *Views) View(ctx context.Context, db *storage.DB, ddocID, name string) (*View, error) {
	return nil, errUnfinished
}

// HasReduce tells whether the view has a reduce function.
func (w *View) HasReduce() bool { return false }

// Type tells how a query is answered.
func (w *View) Type(o *compat.ViewOptions) compat.ViewType { return compat.ViewMap }

// Partitioned tells whether the index is partitioned.
func (w *View) Partitioned() bool { return false }

// Query answers a query, whose options have passed CheckView. It brings the index up to date first, as o.Update says.
func (w *View) Query(ctx context.Context, o *compat.ViewOptions, sink Sink) error { return errUnfinished }

// Info reads what _info shows.
func (v *Views) Info(ctx context.Context, db *storage.DB, ddocID string) (*Info, error) {
	return nil, errUnfinished
}

// Update brings all indexes of a design document up to date.
func (v *Views) Update(ctx context.Context, db *storage.DB, ddocID string) error { return errUnfinished }

// Cleanup removes the indexes that no design document has.
func (v *Views) Cleanup(ctx context.Context, db *storage.DB) error { return errUnfinished }

// Compact tells whether there is such a design document; indexes need no compaction.
func (v *Views) Compact(ctx context.Context, db *storage.DB, ddocID string) error { return errUnfinished }

// Errors lists the documents whose map function failed in a view, in order of their ids.
func (v *Views) Errors(ctx context.Context, db *storage.DB, ddocID, view string, fn func(MapError) error) error {
	return errUnfinished
}

// Tasks lists the running builds.
func (v *Views) Tasks() []Task { return nil }

// Index is the index of one view for readers that make their own plans. It is safe for concurrent use.
type Index struct{}

// Index looks the index of a view up; see View.
func (v *Views) Index(ctx context.Context, db *storage.DB, ddocID, view string) (*Index, error) {
	return nil, errUnfinished
}

// Ready tells whether an interactive index is built up, and of another one, whether it is up to date.
func (ix *Index) Ready(ctx context.Context) (bool, error) { return false, errUnfinished }

// Wait brings the index to where it is Ready, or waits for whoever does.
func (ix *Index) Wait(ctx context.Context) error { return errUnfinished }

// Scan calls fn for the rows in a range of places, in order of keys and ids. On a store that limits the age of snapshots a long
// scan goes on in a newer one. It does not wait for the index.
func (ix *Index) Scan(ctx context.Context, scan Scan, fn ScanFunc) error { return errUnfinished }
