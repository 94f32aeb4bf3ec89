package aggregate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strconv"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views/reduce"
)

// accumulator computes one value of a group. Its methods are called from one goroutine.
type accumulator interface {
	// add takes the value of a document's field, which is there. order is where the document stands
	// in the order of the groups, for those that ordered says need it. Both are valid until add
	// returns. grown is how many bytes the accumulator has come to keep by it.
	add(ctx context.Context, v ejson.Value, order []byte) (grown int, err error)
	// appendResult appends the value as JSON; approximate says that it is an estimate.
	appendResult(ctx context.Context, dst []byte) (out []byte, approximate bool, err error)
}

// summable is an accumulator that also takes the statistics that an index has of many documents.
// known is false where these do not determine the value.
type summable interface {
	join(ctx context.Context, f *reduce.FieldStats) (known bool, err error)
}

// countOp counts documents, which groups do by themselves.
const countOp = "$count"

// operators make the accumulators; nil for the one that needs none.
var operators = map[string]func() accumulator{
	countOp:     nil,
	"$sum":      func() accumulator { return &numbers{fn: sums} },
	"$avg":      func() accumulator { return &average{numbers{fn: sums}} },
	"$stats":    func() accumulator { return &numbers{fn: statistics} },
	"$min":      func() accumulator { return &extreme{sign: -1} },
	"$max":      func() accumulator { return &extreme{sign: 1} },
	"$first":    func() accumulator { return &edge{sign: -1} },
	"$last":     func() accumulator { return &edge{sign: 1} },
	"$distinct": func() accumulator { return &distinct{seen: make(map[digest]struct{})} },
}

// ordered reports whether an operator looks at the order of the documents.
func ordered(op string) bool { return op == "$first" || op == "$last" }

// kept is a value that an accumulator keeps, with what it was compared by. The zero kept is none.
type kept struct{ by, json []byte }

// take keeps a value instead of the one before; it returns by how many bytes it is longer.
func (k *kept) take(v ejson.Value, by []byte) (grown int) {
	before := len(k.by) + len(k.json)
	k.by = append(k.by[:0], by...)
	k.json = v.AppendJSON(k.json[:0])
	return len(k.by) + len(k.json) - before
}

func (k *kept) append(dst []byte) []byte {
	if k.json == nil {
		return append(dst, "null"...)
	}
	return append(dst, k.json...)
}

// extreme is $min and $max in CouchDB's order of values. Of equal values it has the first that came.
type extreme struct {
	kept

	sign int // the sign of the comparison of a new value with the kept one
	key  []byte
}

func (x *extreme) add(_ context.Context, v ejson.Value, _ []byte) (int, error) {
	x.key = collate.AppendKey(x.key[:0], v)
	if x.json != nil && bytes.Compare(x.key, x.by) != x.sign {
		return 0, nil
	}
	return x.take(v, x.key), nil
}

// join implements summable.
func (x *extreme) join(ctx context.Context, f *reduce.FieldStats) (known bool, err error) {
	if f.Others > 0 || f.Count == 0 {
		return f.Others == 0, nil
	}
	json := f.Min
	if x.sign > 0 {
		json = f.Max
	}
	v, err := ejson.Parse(json)
	if err == nil {
		_, err = x.add(ctx, v, nil)
	}
	return true, err
}

func (x *extreme) appendResult(_ context.Context, dst []byte) ([]byte, bool, error) {
	return x.append(dst), false, nil
}

// edge is $first and $last: the value of the first or the last document that has one, in the order
// of the groups' fields and then of ids.
type edge struct {
	kept

	sign int
}

func (e *edge) add(_ context.Context, v ejson.Value, order []byte) (int, error) {
	if e.json != nil && bytes.Compare(order, e.by) != e.sign {
		return 0, nil
	}
	return e.take(v, order), nil
}

func (e *edge) appendResult(_ context.Context, dst []byte) ([]byte, bool, error) {
	return e.append(dst), false, nil
}

// maxExact is how many different values $distinct counts exactly.
const maxExact = 1000

// digest is a hash that stands for a value; two different values have the same one with a
// probability of 2^-128.
type digest [16]byte

// distinct is $distinct: values that are equal in CouchDB's order count once. Beyond maxExact it is
// the estimate of _approx_count_distinct.
type distinct struct {
	seen     map[digest]struct{} // nil: there are more than maxExact
	estimate reduce.Aggregate
	key      []byte
}

// digestSize is about what a digest takes in the map.
const digestSize = 40

// add counts a value exactly, by digests of its key, as long as there are at most maxExact of them.
// The estimate is kept from the first value on, so that it is complete when the digests are given
// up.
func (d *distinct) add(ctx context.Context, v ejson.Value, _ []byte) (grown int, err error) {
	if d.seen != nil {
		d.key = collate.AppendKey(d.key[:0], v)
		sum := sha256.Sum256(d.key)
		id := digest(sum[:len(digest{})])
		if _, seen := d.seen[id]; seen {
			return 0, nil
		}
		d.seen[id] = struct{}{}
		if grown = digestSize; len(d.seen) > maxExact {
			grown -= digestSize * len(d.seen)
			d.seen = nil
		}
	}
	before := len(d.estimate)
	d.estimate, err = joined(ctx, estimates, d.estimate, reduce.Row{Key: v.AppendJSON(nil)})
	return grown + len(d.estimate) - before, err
}

func (d *distinct) appendResult(ctx context.Context, dst []byte) ([]byte, bool, error) {
	if d.seen != nil {
		return strconv.AppendInt(dst, int64(len(d.seen)), 10), false, nil
	}
	dst, err := appendFinished(ctx, dst, estimates, d.estimate)
	return dst, true, err
}
