package allfields

import (
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Version names the form of the entries: the collation and what entries.go makes of a document.
//
// A change of either makes all indexes be built anew (rebuild.go).
const Version = collate.Version + "/4"

// Tags below TagMango, and below an index. They are on disk.
const (
	keyRegistry = 1
	keyIndex    = 2

	keyRows    = 1
	keyCounts  = 2
	keyTotals  = 3
	keyReached = 4
	keyBuilt   = 5
	keySamples = 6

	totalEntries = 0
	totalBytes   = 1
)

// elementMark ends the key of the count of a path's elements. No member name and no value begins
// with it.
const elementMark = 0x01

// Values of entries begin with bytes from firstValue up to, and without, endValue
// (collate.AppendKey); member names begin with the code of a tuple's string, which is lower. So a
// path's own values are one range, and those of longer paths are before it.
const (
	firstValue = 0x10
	endValue   = 0x20
)

// rowTruncated in a row's value says that the entry's value is only the beginning of the key that
// it stands for.
const rowTruncated = 1

// space is the prefix of the keys of a database's indexes.
type space struct{ root []byte }

type prefixer interface {
	AppendPrefix(dst []byte, tag keyspace.Tag) []byte
}

func spaceOf(p prefixer) space { return space{p.AppendPrefix(nil, keyspace.TagMango)} }

func (sp space) registry() []byte { return tuple.AppendInt(sp.clone(), keyRegistry) }

func (sp space) clone() []byte { return append(make([]byte, 0, len(sp.root)+64), sp.root...) }

func (sp space) index(number uint64) []byte {
	return tuple.AppendUint(tuple.AppendInt(sp.clone(), keyIndex), number)
}

func (sp space) sub(number uint64, tag int64) []byte { return tuple.AppendInt(sp.index(number), tag) }

func (sp space) total(number uint64, total int64) []byte {
	return tuple.AppendInt(sp.sub(number, keyTotals), total)
}

// AppendPath appends the key of a path, given by its member names.
func appendPath(dst []byte, parts []string) []byte {
	for _, part := range parts {
		dst = tuple.AppendString(dst, part)
	}
	return dst
}

// row is one entry as it is read back.
type row struct {
	value     []byte // the value's key, or its beginning
	truncated bool
	position  int64
	id        string
}

// rowValue is what is stored under an entry's key: the length of the value, because nothing in the key
// tells where that ends and the position begins.
func rowValue(dst []byte, valueLen int, truncated bool) []byte {
	n := uint64(valueLen) << 1
	if truncated {
		n |= rowTruncated
	}
	return binary.AppendUvarint(dst, n)
}

// parseRow reads what follows the path in a row's key.
func parseRow(suffix, stored []byte) (r row, err error) {
	n, size := binary.Uvarint(stored)
	if size <= 0 || n>>1 > uint64(len(suffix)) {
		return r, corrupt("row")
	}
	r.truncated = n&rowTruncated != 0
	r.value = suffix[:n>>1]
	rest := suffix[n>>1:]
	if r.position, rest, err = tuple.ReadInt(rest); err != nil {
		return r, corrupt("row")
	}
	if r.id, rest, err = tuple.ReadString(rest); err != nil || len(rest) > 0 {
		return r, corrupt("row")
	}
	return r, nil
}

func corrupt(what string) error {
	return fmt.Errorf("allfields: malformed %s: %w", what, kv.ErrCorrupt)
}

// AppendEntryKey appends the key of an entry, as Entry has it.
func AppendEntryKey(dst []byte, path []string, value []byte, position int64, id string) []byte {
	return tuple.AppendString(tuple.AppendInt(append(appendPath(dst, path), value...), position), id)
}

// AppendKeyBefore appends a key before all entries of a value as the index has it, in the direction
// of a scan.
func AppendKeyBefore(dst []byte, path []string, value []byte, descending bool) []byte {
	if dst = append(appendPath(dst, path), value...); descending {
		dst = append(dst, afterValue)
	}
	return dst
}
