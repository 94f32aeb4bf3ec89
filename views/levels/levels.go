package levels

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/rank"
	"github.com/settee-db/settee/views/reduce"
)

// Config is the shape of an index's levels. It must not change while they exist.
type Config struct {
	Levels int  // how many
	Fan    int  // one key of a level in so many reaches the next
	Sums   bool // sums of integers are kept next to the counts: some reduce function is _sum
}

// The greatest number of levels, and the greatest fan.
const (
	MaxLevels = 10
	MaxFan    = 255
)

// Shape gives the number of levels and the fan, with what DefaultConfig has instead of what cannot
// be.
func (c Config) Shape() (count, fan int) {
	count, fan = c.Levels, c.Fan
	if count < 1 || count > MaxLevels {
		count = DefaultConfig.Levels
	}
	if fan < 2 || fan > MaxFan {
		fan = DefaultConfig.Fan
	}
	return count, fan
}

// DefaultConfig is the shape for new indexes, but for Sums.
var DefaultConfig = Config{Levels: 4, Fan: 32}

// Exact is the group level of group=true.
const Exact = -1

// Layout explains the form of rows. Keys come without the prefix of the rows.
type Layout interface {
	// Row takes a stored row apart; keyed is the length of the part of the key that is the emitted
	// key, with a partition before it. What it returns may share memory with key and value.
	Row(key, value []byte) (row reduce.Row, keyed int, err error)
	// Group is the number of bytes of such a part that the rows of its group, and no others, begin
	// with; level is not Exact.
	Group(keyed []byte, level int) int
}

// Slot is a reduce function on an index.
type Slot struct {
	Number uint32 // names its aggregates on disk
	Func   reduce.Func
}

// Options describe the levels of an index.
type Options struct {
	Config
	Rows   []byte // prefix of the rows; there is nothing else below
	Levels []byte // prefix of what this package stores
	Layout Layout
	Slots  []Slot // the functions whose aggregates are to be kept up
	// Shared indexes are written by many at once, so they are logged; see log.go.
	Shared bool
	// Together is how many reads are best asked for at once, as kv.Limits has it.
	Together int
}

// Index is the levels of one index. It has no state and is safe for concurrent use.
type Index struct {
	Options
	ranks *rank.Index
	// Those of Slots that have aggregates on disk (keeps).
	kept  []Slot
	cache *Cache // see With; nil for nothing
	// Logged says that changes go to the log, and that Fold is to be called from time to time.
	Logged bool
}

// Subspaces below Options.Levels.
const (
	keyWeights    = iota // (level) + key: a rank.Weight
	_                    // was another writer's, and stays free
	keyAggregates        // (slot, level) + key: an aggregate, noRows, or nothing if it is stale
	keyLog               // see log.go
)

// noRows is stored in place of an aggregate if there are no rows.
var noRows = []byte{0}

// New returns the levels that the options describe.
func New(o Options) *Index {
	if o.Config.Levels <= 0 || o.Fan < 2 {
		sums := o.Sums
		o.Config = DefaultConfig
		o.Sums = sums
	}
	x := &Index{Options: o}
	for _, s := range o.Slots {
		if x.keeps(s) {
			x.kept = append(x.kept, s)
		}
	}
	x.Logged = o.Shared
	ranks := rank.Options{Rows: o.Rows, Fan: uint64(o.Fan), Together: o.Together}
	for n := 1; n <= o.Config.Levels; n++ {
		ranks.Levels = append(ranks.Levels, x.boundaries(n))
	}
	if o.Sums {
		ranks.Weigh = x.weigh
	}
	x.ranks = rank.New(ranks)
	return x
}

// height is the number of levels.
func (x *Index) height() int { return x.Config.Levels }

// keeps reports whether a function has aggregates on disk: others are answered from the weights or
// from the rows at the ends.
func (x *Index) keeps(s Slot) bool {
	switch s.Func.Kind() {
	case reduce.KindCount, reduce.KindFirst, reduce.KindLast:
		return false
	}
	return true
}

// restOnly reports whether the aggregates of a function are only over rows that are not in the
// weights' sums.
func (x *Index) restOnly(s Slot) bool { return x.Sums && s.Func.Kind() == reduce.KindSum }

// NeedsOld reports whether Change.Old has to be the stored row.
func (x *Index) NeedsOld() bool { return x.Sums }

// boundaries is the prefix of the weights of a level, which all its boundaries have.
func (x *Index) boundaries(level int) []byte { return x.space(keyWeights, int64(level)) }

func (x *Index) space(parts ...int64) []byte {
	key := bytes.Clone(x.Levels)
	for _, p := range parts {
		key = tuple.AppendInt(key, p)
	}
	return key
}

// aggregates are those of one function on one level, which has them below a prefix.
type aggregates struct {
	x      *Index
	slot   Slot
	level  int
	prefix []byte
}

func (x *Index) aggregates(s Slot, level int) *aggregates {
	return &aggregates{x, s, level, x.space(keyAggregates, int64(s.Number), int64(level))}
}

// weigh gives the weight of a row: its value is part of the sum if it is a 64-bit integer, and
// counted as a rest otherwise.
func (x *Index) weigh(key, value []byte) (rank.Weight, error) {
	r, _, err := x.Layout.Row(key, value)
	if err != nil {
		return rank.Weight{}, err
	}
	if n, ok := reduce.SmallInt(r.Value); ok {
		return rank.Weight{Rows: 1, Sum: rank.Int(n)}, nil
	}
	return rank.Weight{Rows: 1, Rest: 1}, nil
}

// CountBefore counts the rows before a key; nil is after all.
func (x *Index) CountBefore(r kv.ReadTx, key []byte) (int64, error) {
	rest, err := x.rest(r)
	if err != nil {
		return 0, err
	}
	return x.ranks.RowsBefore(r, x.sums(), key, rest.deltas)
}

// Count counts the rows with start <= key < end; a nil end is open.
func (x *Index) Count(r kv.ReadTx, start, end []byte) (int64, error) {
	n, err := x.CountBefore(r, end)
	// Nothing is before the empty key.
	if err != nil || len(start) == 0 {
		return n, err
	}
	before, err := x.CountBefore(r, start)
	return n - before, err
}

// Select gives the key of the row with exactly n rows before it, nil if there is none.
func (x *Index) Select(r kv.ReadTx, n int64) ([]byte, error) {
	rest, err := x.rest(r)
	if err != nil {
		return nil, err
	}
	return x.ranks.Select(r, n, rest.deltas)
}

// Clear removes all levels.
func (x *Index) Clear(tx kv.Tx) { tx.ClearRange(x.Levels, prefixEnd(x.Levels)) }

func prefixEnd(prefix []byte) []byte { return kv.AppendPrefixEnd(nil, prefix) }

func concat(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)+1), a...), b...) }

// rangeEnd is where a range of keys below a prefix ends; nil is after all.
func rangeEnd(prefix, to []byte) []byte {
	if to == nil {
		return prefixEnd(prefix)
	}
	return concat(prefix, to)
}
