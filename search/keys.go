package search

import (
	"fmt"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// space is the key prefix of a database's search indexes. Its keys:
//
//	(0, signature)   record of an index
//	(1)              next number
//	(2, number, …)   all of an index: keysOf
//	(3)              interactive indexes: interactiveList
type space []byte

const (
	keyRecord int64 = iota
	keyNextNumber
	keyIndex
	keyInteractive
)

// Below (2, number); docs/keyspace.md has the table.
const (
	keyManifest int64 = iota
	keyLog
	keyDocument
	keyBlock
	keyLive
	keyError
	keyCount
	keyField
	keyClaim
	keyLack
)

// The counters of an index.
const (
	countDocs       int64 = iota // alive
	countErrors                  // documents that could not be indexed
	countLogEntries              // entries of the log
	countLogBytes
	counters = iota
)

func spaceOf(s *storage.Snapshot) space { return s.AppendPrefix(nil, keyspace.TagSearch) }

func (sp space) key(part int64) []byte { return tuple.AppendInt(sp[:len(sp):len(sp)], part) }

func (sp space) record(s signature) []byte { return tuple.AppendBytes(sp.key(keyRecord), s[:]) }

// keys are those of one index.
type keys struct{ prefix []byte }

func (sp space) keysOf(number int64) *keys { return &keys{tuple.AppendInt(sp.key(keyIndex), number)} }

func (k *keys) key(part int64) []byte {
	return tuple.AppendInt(k.prefix[:len(k.prefix):len(k.prefix)], part)
}

// log is the key of an entry of the log, whose place is the identity of what it indexes.
func (k *keys) log(at segment.Identity) []byte { return append(k.key(keyLog), at...) }

func (k *keys) document(id string) []byte { return tuple.AppendString(k.key(keyDocument), id) }

func (k *keys) segment(id int64) []byte { return tuple.AppendInt(k.key(keyBlock), id) }

func (k *keys) block(segment int64, b segment.BlockKey) []byte {
	key := tuple.AppendInt(k.segment(segment), int64(b.Stream))
	return tuple.AppendInt(tuple.AppendInt(key, int64(b.Field)), int64(b.Number))
}

// live is a part of the set of documents of a segment that are alive.
func (k *keys) live(segment, version int64) []byte {
	return tuple.AppendInt(tuple.AppendInt(k.key(keyLive), segment), version)
}

func (k *keys) error(id string) []byte { return tuple.AppendString(k.key(keyError), id) }

func (k *keys) lack(id string) []byte { return again.Key(k.key(keyLack), id) }

func (k *keys) count(n int64) []byte { return tuple.AppendInt(k.key(keyCount), n) }

func (k *keys) field(name string) []byte { return tuple.AppendString(k.key(keyField), name) }

func (k *keys) claim(of int64) []byte { return tuple.AppendInt(k.key(keyClaim), of) }

// children gives begin and end of a key and of all keys that extend it by further elements.
func children(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }

func corrupt(what string) error { return fmt.Errorf("search: malformed %s: %w", what, kv.ErrCorrupt) }

// maxValue is how many bytes of a longer thing are in one value.
const maxValue = 90_000
