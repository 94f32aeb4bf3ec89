package views

import (
	"context"

	"github.com/settee-db/settee/storage"
)

// serveGroups gives the rows of a reduce query that are left.
func (q *query) serveGroups(ctx context.Context, s *storage.Snapshot, m *member) error {
	return errUnfinished
}
