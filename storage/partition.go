package storage

import (
	"context"
	"strings"
)

// partitionOf is the partition of a document in a partitioned database; design documents have none.
func partitionOf(id string) (string, bool) {
	if strings.HasPrefix(id, "_") {
		return "", false
	}
	name, _, ok := strings.Cut(id, ":")
	return name, ok
}

// Partitioned reports whether the ids of the database name partitions.
func (db *DB) Partitioned(ctx context.Context) (bool, error) {
	rec, err := db.record(ctx)
	return rec.partitioned, err
}
