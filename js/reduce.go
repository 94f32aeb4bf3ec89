package js

import (
	"context"
	"strconv"

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

// ReduceResult is what a reduce function gave for one group.
type ReduceResult struct {
	Value []byte        // JSON; null after an exception
	Err   *compat.Error // reduce_overflow_error, instead of a value
	Log   string        // the exception that made it null, as CouchDB logs it
}

// Reduce runs one reduce function over many groups in one crossing. With limit, results that do not shrink are errors,
// as with query_server_config/reduce_limit = true. Other errors stand for the whole call, as in Map.
func (p *Pool) Reduce(
	ctx context.Context,
	tenant, source string,
	limit bool,
	groups []ReduceGroup,
) ([]ReduceResult, error) {
	var e encoder
	key := digestOf([]byte(source))
	e.b = append(e.b, key[:]...)
	e.string(tenant)
	e.bool(limit)
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
				results = append(results, decodeReduceResult(&d))
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

// decodeReduceResult reads what reduceGroup writes: a value, or the sizes of an overflow.
func decodeReduceResult(d *decoder) ReduceResult {
	if !d.bool() {
		return ReduceResult{Value: d.bytes(), Log: d.string()}
	}
	input, output := d.uint(), d.uint()
	return ReduceResult{Err: compat.Named(compat.KindUnknown, "reduce_overflow_error",
		"Reduce output must shrink more rapidly: input size: "+strconv.FormatUint(input, 10)+
			" output size: "+strconv.FormatUint(output, 10))}
}
