package reduce

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// Row is a row of a view.
type Row struct {
	Key   []byte // JSON of the emitted key, canonical
	ID    []byte // document id, as text
	Value []byte // JSON of the value, canonical
}

// Aggregate is the intermediate result of a function over some rows.
type Aggregate []byte

// Value is a finished reduction.
type Value struct {
	JSON []byte
	// Overflow, if not empty, is the reason for which a JavaScript function has no value: the row
	// of the answer is {"key":null,"error":"reduce_overflow_error","reason":Overflow}.
	Overflow string
}

// Kind tells functions apart whose aggregates can be had in a better way than by reducing rows.
type Kind uint8

// The kinds.
const (
	KindOther Kind = iota
	KindCount      // the number of rows
	KindSum        // the sum of the values, where all are integers
	KindStats      // statistics of the values, which a Tally has where all are integers
	KindFirst      // depends on the rows of the lowest key and id alone
	KindLast       // depends on the rows of the highest key and id alone
)

// Func is one reduce function. Each method works on several independent groups at once, which with
// a JavaScript function is one crossing to its process. Rows and aggregates come against the
// direction of reading, for an ascending query the highest first, but rows with one key and
// document always in their order. Methods are safe for concurrent use; errors are *compat.Error
// where a client is to blame. No group is empty.
type Func interface {
	Kind() Kind
	Reduce(ctx context.Context, groups [][]Row) ([]Aggregate, error)
	Rereduce(ctx context.Context, groups [][]Aggregate) ([]Aggregate, error)
	// Finish makes the values of rows of an answer: the coordinator's rereduce and
	// couch_query_servers:finalize. The reason of an overflow names the view,
	// db/_design/name/_view/name.
	Finish(ctx context.Context, view string, aggregates []Aggregate) ([]Value, error)
}

// Options are what functions get from the server.
type Options struct {
	JavaScript JavaScript
	// Limit is that of _sum; nil is DefaultLimit. JavaScript looks after itself.
	Limit func() Limit
}

// Limit says which results are too large (query_server_config/reduce_limit): those above Threshold
// bytes that, Ratio times, are larger than what they were made of.
type Limit struct {
	On        bool // such a result is an error
	Log       bool // it is a line of the log
	Threshold int
	Ratio     float64
	Warn      func(message string) // writes the line; nil: nobody does
}

// DefaultLimit is CouchDB's.
var DefaultLimit = Limit{On: true, Threshold: 5000, Ratio: 2}

// Tell writes a line of the log, if there is who does.
func (l Limit) Tell(message string) {
	if l.Warn != nil {
		l.Warn(message)
	}
}

// builtins are the built-in functions by the prefix of their names, in CouchDB's order
// (couch_query_servers:builtin_reduce).
var builtins = []struct {
	prefix string
	ranked bool // a number follows, and belongs to the name
	make   func(n int, o Options) builtin
}{
	{"_sum", false, func(_ int, o Options) builtin { return &sum{o.Limit} }},
	{"_count", false, func(int, Options) builtin { return count{} }},
	{"_stats", false, func(int, Options) builtin { return stats{} }},
	{"_approx_count_distinct", false, func(int, Options) builtin { return distinct{} }},
	{"_top_", true, func(n int, _ Options) builtin { return ranked{n, -1} }},
	{"_bottom_", true, func(n int, _ Options) builtin { return ranked{n, 1} }},
	{"_first", false, func(int, Options) builtin { return ends{} }},
	{"_last", false, func(int, Options) builtin { return ends{last: true} }},
}

// maxRank is MAX_RANK of couch_mrview.
const maxRank = 100

// Builtin reports whether a source names a built-in function, whether there is such a one or not.
func Builtin(source string) bool { return strings.HasPrefix(source, "_") }

// Canonical gives the source by which equal functions are equal: _sumx is _sum.
func Canonical(source string) string {
	for _, b := range builtins {
		if rest, ok := strings.CutPrefix(source, b.prefix); ok {
			if !b.ranked {
				return b.prefix
			}
			if n, err := rankOf(rest); err == nil {
				return b.prefix + strconv.Itoa(n)
			}
		}
	}
	return source
}

// CheckName checks the name of a built-in function when a design document is saved
// (couch_mrview:validate).
func CheckName(source string) error {
	for _, b := range builtins {
		if rest, ok := strings.CutPrefix(source, b.prefix); ok {
			if !b.ranked {
				return nil
			}
			_, err := rankOf(rest)
			return err
		}
	}
	return compat.NewError(compat.KindInvalidDesignDoc, "`"+source+"` is not a supported reduce function.")
}

// rankOf reads the number of _top_N (binary_to_integer: a sign and leading zeros are fine).
func rankOf(text string) (int, error) {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, compat.NewError(compat.KindInvalidDesignDoc, "invalid rank reducer")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxRank {
		return 0, compat.Errorf(compat.KindInvalidDesignDoc, "rank value must be between 1 and %d", maxRank)
	}
	return n, nil
}

// New makes the function of a source, Fields among them. The error is that of CheckName; sources in JavaScript are not
// checked.
func New(source string, o Options) (Func, error) {
	switch {
	case source == Fields:
		return each{fields{}}, nil
	case !Builtin(source):
		return &javaScript{source, o.JavaScript}, nil
	}
	if err := CheckName(source); err != nil {
		return nil, err
	}
	for _, b := range builtins {
		if rest, ok := strings.CutPrefix(source, b.prefix); ok {
			n := 0
			if b.ranked {
				n, _ = rankOf(rest) // CheckName has read it
			}
			return each{b.make(n, o)}, nil
		}
	}
	return nil, compat.NewError(compat.KindInvalidDesignDoc, source)
}

// builtin is a function that works on one group.
type builtin interface {
	kind() Kind
	reduce(rows []Row) (Aggregate, error)
	rereduce(aggregates []Aggregate) (Aggregate, error)
	// finish is rereduce of the one aggregate, and its JSON; see Func.Finish.
	finish(view string, a Aggregate) ([]byte, error)
}

// each makes a Func of a built-in function.
type each struct{ builtin }

// Kind implements Func.
func (e each) Kind() Kind { return e.kind() }

// Reduce implements Func.
func (e each) Reduce(ctx context.Context, groups [][]Row) ([]Aggregate, error) {
	return mapEach(ctx, groups, e.reduce)
}

// Rereduce implements Func.
func (e each) Rereduce(ctx context.Context, groups [][]Aggregate) ([]Aggregate, error) {
	return mapEach(ctx, groups, e.rereduce)
}

// Finish implements Func.
func (e each) Finish(ctx context.Context, view string, aggregates []Aggregate) ([]Value, error) {
	return mapEach(ctx, aggregates, func(a Aggregate) (Value, error) {
		json, err := e.finish(view, a)
		return Value{JSON: json}, err
	})
}

// mapEach calls fn for each group in order; the first error ends it.
func mapEach[In, Out any](ctx context.Context, groups []In, fn func(In) (Out, error)) ([]Out, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]Out, len(groups))
	for i, g := range groups {
		var err error
		if out[i], err = fn(g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// corrupt reports an aggregate that no code of ours writes.
func corrupt(what string) error {
	return fmt.Errorf("views/reduce: malformed aggregate of %s: %w", what, kv.ErrCorrupt)
}
