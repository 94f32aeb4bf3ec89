package rank

import (
	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/storage/kv"
)

// Options describe a rank index. The prefixes must not be modified later.
type Options struct {
	Rows   []byte   // the prefix of the rows
	Levels [][]byte // prefix of the weights of each level, from level 1 on
	Fan    uint64   // one key of a level in so many reaches the next; at least 2
	// Together is how many reads are best asked for at once, as kv.Limits has it.
	Together int

	// Weigh gives what a row is worth besides being counted; nil: rows are only counted, and
	// weights take 8 bytes instead of 32. The key comes without the prefix.
	Weigh func(key, value []byte) (Weight, error)
}

// Index is one rank index. It has no state of its own and is safe for concurrent use.
type Index struct{ Options }

// New returns the index that the options describe.
func New(o Options) *Index { return &Index{o} }

// Height is the number of levels that a row's key reaches.
func (x *Index) Height(key []byte) int { return Height(key, len(x.Levels), x.Fan) }

// Height is the number of levels, at most levels, that a key reaches.
func Height(key []byte, levels int, fan uint64) int {
	h := xxhash.Sum64(key)
	n := 0
	for n < levels && h%fan == 0 {
		h /= fan
		n++
	}
	return n
}

const (
	// The boundaries of a level that changed rows lie between are read in one go, unless they are
	// more than boundsPerRow for each.
	boundsPerRow = 8
	// seeksAtOnce is how many boundaries are sought together.
	seeksAtOnce = 64
)

// atOnce is how many reads of a kind go together.
func (x *Index) atOnce() int { return max(1, min(x.Together, seeksAtOnce)) }

func (x *Index) wide() bool { return x.Weigh != nil }

// level is the prefix of the weights of level n, which begins with 1.
func (x *Index) level(n int) []byte { return x.Levels[n-1] }

// rowsEnd is where a range of rows up to a key ends; nil is after all rows.
func (x *Index) rowsEnd(to []byte) []byte { return rangeEnd(x.Rows, to) }

// rangeEnd is where a range below a prefix ends; a nil key is after all rows.
func rangeEnd(prefix, to []byte) []byte {
	if to == nil {
		return kv.AppendPrefixEnd(nil, prefix)
	}
	return concat(prefix, to)
}

func concat(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)+1), a...), b...) }
