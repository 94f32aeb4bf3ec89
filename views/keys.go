package views

import (
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// The key space of a database's indexes, below (database, TagViews). Keys are tuples up to the row
// key.
//
//	(info, signature)              what is known of an index                               record.go
//	(nextNumber)                   number of the next index, 8 bytes little-endian
//	(interactive)                  list of the interactive indexes                         interactive.go
//	(rows, number) + row key       emitted key and value                                   rows.go
//	(ids, number, document id)     the keys of the document's rows                         ids.go
//	(counts, number, counter)      8 bytes little-endian, by atomic addition
//	(levels, number, …)            counts and aggregates                                   views/levels
//	(errors, number, document id)  message of a failed map function
//	(lacks, number, document id)   how much memory a worker had that the document has filled   again.go
//	(changed, number)              13 bytes of the sequence at which rows last changed
//	(oversized, number, …)         documents whose rows do not fit                         oversized.go
//	(pieces, number)               a first build in pieces: whose it is                    pieces.go
//	(pieces, number, piece)        a piece of the feed: where it is, where it ends
//
// A row key is the emitted key in the index's order (after the partition or principal, if any),
// the document id as a tuple string, and the number of the row among those that the document has at
// that key, as a tuple integer.
const (
	keyInfo = iota
	keyNextNumber
	keyInteractive
	keyRows
	keyIDs
	keyCounts
	keyLevels
	keyErrors
	keyChanged
	keyOversized
	keyPieces
	keyLacks
)

// AppendRowKey appends the key of the first row that a document may have at an emitted key: that
// key, then the id. key is the key of a JSON value (collate.AppendKey).
func AppendRowKey(dst, key []byte, docID string) []byte {
	return tuple.AppendString(append(dst, key...), docID)
}

// The counters of an index.
const (
	countRows      = iota // rows
	countExternal         // bytes of keys and values as JSON
	countActive           // bytes of rows and ids as stored, without keys' common prefix
	countOversized        // documents in OVERSIZED
	counters
)

// space is the key prefix of a database's indexes.
type space []byte

func (s space) sub(dst []byte, tag int64) []byte { return tuple.AppendInt(append(dst, s...), tag) }

func (s space) info(signature Signature) []byte {
	return tuple.AppendBytes(s.sub(nil, keyInfo), signature[:])
}

// index is the prefix of a subspace of one index.
func (s space) index(tag, number int64) []byte { return tuple.AppendInt(s.sub(nil, tag), number) }

// children gives the range of the keys that extend a tuple by further elements, itself included.
func children(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }

// indexTags are the subspaces that an index's number leads to.
var indexTags = [...]int64{keyRows, keyIDs, keyCounts, keyLevels, keyErrors, keyChanged, keyOversized, keyPieces,
	keyLacks}

// clear removes all data of an index.
func (s space) clear(tx kv.Tx, number int64) {
	for _, tag := range indexTags {
		tx.ClearRange(children(s.index(tag, number)))
	}
}

// indexKeys are the prefixes of one index's subspaces.
type indexKeys struct {
	space     space
	number    int64
	rows      []byte
	ids       []byte
	counts    []byte
	levels    []byte
	errors    []byte
	changed   []byte
	oversized []byte
	lacks     []byte
}

func (s space) keysOf(number int64) *indexKeys {
	return &indexKeys{
		space: s, number: number,
		rows:      s.index(keyRows, number),
		ids:       s.index(keyIDs, number),
		counts:    s.index(keyCounts, number),
		levels:    s.index(keyLevels, number),
		errors:    s.index(keyErrors, number),
		changed:   s.index(keyChanged, number),
		oversized: s.index(keyOversized, number),
		lacks:     s.index(keyLacks, number),
	}
}

func (k *indexKeys) id(dst []byte, docID string) []byte {
	return tuple.AppendString(append(dst, k.ids...), docID)
}

func (k *indexKeys) error(dst []byte, docID string) []byte {
	return tuple.AppendString(append(dst, k.errors...), docID)
}

func (k *indexKeys) count(n int64) []byte {
	return tuple.AppendInt(append([]byte(nil), k.counts...), n)
}
