package storage

import "strings"

// partitionOf is the partition of a document in a partitioned database; design documents have none.
func partitionOf(id string) (string, bool) {
	if strings.HasPrefix(id, "_") {
		return "", false
	}
	name, _, ok := strings.Cut(id, ":")
	return name, ok
}
