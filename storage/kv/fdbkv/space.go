//go:build fdb

package fdbkv

import (
	"bytes"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
)

// reserved begins the keys below the prefix that are the engine's own.
const reserved = 0xff

var reservedBegin = []byte{reserved}

// space is the part of the cluster below a prefix.
type space struct{ prefix []byte }

// isReserved reports whether key is out of reach of the store's callers.
func isReserved(key []byte) bool { return len(key) > 0 && key[0] == reserved }

// append appends the cluster's key for key.
func (s space) append(b, key []byte) []byte { return append(append(b, s.prefix...), key...) }

// key returns the cluster's key for key, in memory of its own.
func (s space) key(key []byte) fdb.Key { return s.append(make([]byte, 0, len(s.prefix)+len(key)), key) }

// keyRange returns the cluster's range for begin <= key < end without the reserved keys; it may be
// empty.
func (s space) keyRange(begin, end []byte) fdb.KeyRange {
	if bytes.Compare(end, reservedBegin) > 0 {
		end = reservedBegin
	}
	if bytes.Compare(begin, end) > 0 {
		begin = end
	}
	return fdb.KeyRange{Begin: s.key(begin), End: s.key(end)}
}
