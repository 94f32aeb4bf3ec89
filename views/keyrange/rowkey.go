package keyrange

import (
	"bytes"
	"strings"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// What begins the key of a row of a partitioned index, and of one by principal: the latter is below
// all keys of JSON values.
const (
	leadPartition = 0x10
	leadPrincipal = 0x08
)

// What follows the emitted key in a row key: a document id is a tuple string, which begins with
// leadID.
const (
	leadID  = 0x02
	afterID = leadID + 1
)

// PartitionName is the part of an id before the first colon.
func PartitionName(docID string) string {
	name, _, _ := strings.Cut(docID, ":")
	return name
}

// AppendPartition appends what the row keys of a partition begin with: in order of the names as
// keys, and then as bytes, so that names that collate as equal stay apart.
func AppendPartition(dst []byte, name string) []byte {
	dst = collate.AppendStringKey(append(dst, leadPartition), []byte(name))
	return tuple.AppendString(append(dst, 0), name)
}

// PartitionLength is the length of what AppendPartition made.
func PartitionLength(rowKey []byte) int {
	end := bytes.IndexByte(rowKey, 0)
	if end < 0 {
		return 0
	}
	return textEnd(rowKey, end+1)
}

// AppendPrincipal appends what the row keys of a principal begin with, in the order of principals.
func AppendPrincipal(dst []byte, principal string) []byte {
	return tuple.AppendString(append(dst, leadPrincipal), principal)
}

// PrincipalLength is the length of what AppendPrincipal made, 0 for a row key without a principal.
func PrincipalLength(rowKey []byte) int {
	if len(rowKey) == 0 || rowKey[0] != leadPrincipal {
		return 0
	}
	return textEnd(rowKey, 1)
}

// textEnd is where a text ends that begins in a row key.
func textEnd(rowKey []byte, at int) int {
	_, rest, err := tuple.ReadText(rowKey[at:])
	if err != nil {
		return 0
	}
	return len(rowKey) - len(rest)
}
