package js

import (
	"context"
	"fmt"
	"math"

	"github.com/settee-db/settee/compat"
)

// ReduceRow is one row that is handed to a reduce function.
type ReduceRow struct {
	Key   []byte // JSON; unused in a rereduce
	ID    string // document id; unused in a rereduce
	Value []byte // JSON
}

// ReduceGroup is one call of a reduce function.
type ReduceGroup struct {
	Rereduce bool // keys is null and values are earlier results
	Rows     []ReduceRow
}

// ReduceResult is the result of a reduce function for one group.
type ReduceResult struct {
	Value    []byte        // JSON; null after an exception
	Overflow *compat.Error // reduce_overflow_error of a value that is too large
}

// ReduceLimit says which results are too large: those of more than Threshold code units that, Ratio
// times, are longer than the command line of CouchDB's protocol that would have asked for them
// (share/server/views.js:runReduce).
type ReduceLimit struct {
	On        bool
	Threshold int
	Ratio     float64
	View      string // that the error names, "" for none
}

// Reduce runs one reduce function over many groups in one crossing. Results that are too large have
// an overflow beside their value; other errors stand for the whole call, as in Map.
func (p *Pool) Reduce(
	ctx context.Context,
	tenant, source string,
	limit ReduceLimit,
	groups []ReduceGroup,
) ([]ReduceResult, error) {
	var e encoder
	key := digestOf([]byte(source))
	e.b = append(e.b, key[:]...)
	e.string(tenant)
	e.bool(limit.On)
	e.uint(uint64(max(0, limit.Threshold)))
	e.uint(math.Float64bits(limit.Ratio))
	e.string(limit.View)
	e.uint(uint64(len(groups)))
	for i := range groups {
		encodeGroup(&e, &groups[i])
	}
	results := make([]ReduceResult, 0, len(groups))
	_, err := p.do(ctx, &request{
		tenant: tenant, command: commandReduce, payload: e.b, program: key,
		source: func(digest) []byte { return []byte(source) },
		chunk: func(payload []byte) error {
			d := decoder{b: payload}
			for len(d.b) > 0 {
				results = append(results, decodeReduceResult(&d, limit.View))
			}
			return d.err
		},
		again: func() { results = results[:0] },
	})
	if err != nil {
		return nil, err
	}
	if len(results) != len(groups) {
		return nil, compat.NewError(compat.KindInternal, errFrame.Error())
	}
	return results, nil
}

func encodeGroup(e *encoder, g *ReduceGroup) {
	e.bool(g.Rereduce)
	e.uint(uint64(len(g.Rows)))
	for i := range g.Rows {
		r := &g.Rows[i]
		if !g.Rereduce {
			e.bytes(r.Key)
			e.string(r.ID)
		}
		e.bytes(r.Value)
	}
}

// decodeReduceResult reads what reducer.group writes: a value, after the sizes of an overflow.
func decodeReduceResult(d *decoder, view string) (r ReduceResult) {
	if d.bool() {
		input, output := d.uint(), d.uint()
		r.Overflow = compat.Named(compat.KindUnknown, "reduce_overflow_error", fmt.Sprintf(
			"Reduce output must shrink more rapidly: input size: %d output size: %d context: %s", input, output, view))
	}
	r.Value = d.bytes()
	return r
}
