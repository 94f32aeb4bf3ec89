package reduce

import (
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// ranked is _top_N (sign -1) and _bottom_N (sign 1): the first values in the order of keys, each
// once; of equal ones the first met. An aggregate is their JSON array.
type ranked struct{ n, sign int }

func (ranked) kind() Kind { return KindOther }

// insert puts a value in its place (couch_query_servers:builtin_rank_n).
func (r ranked) insert(list []ejson.Value, json []byte) ([]ejson.Value, error) {
	v, err := ejson.Parse(json)
	if err != nil {
		return nil, corrupt("rank")
	}
	return r.insertValue(list, v), nil
}

// insertValue keeps list sorted and at most r.n long; a value that is there already, or comes
// behind all of a full list, is dropped.
func (r ranked) insertValue(list []ejson.Value, v ejson.Value) []ejson.Value {
	i, found := slices.BinarySearchFunc(list, v, func(a, b ejson.Value) int { return r.sign * collate.Compare(a, b) })
	if found || i >= r.n {
		return list
	}
	if len(list) == r.n {
		list = list[:r.n-1]
	}
	return slices.Insert(list, i, v)
}

func (r ranked) reduce(rows []Row) (Aggregate, error) {
	var list []ejson.Value
	for _, row := range rows {
		var err error
		if list, err = r.insert(list, row.Value); err != nil {
			return nil, err
		}
	}
	return appendValues(list), nil
}

func (r ranked) rereduce(aggregates []Aggregate) (Aggregate, error) {
	var list []ejson.Value
	for _, a := range aggregates {
		v, err := ejson.Parse(a)
		if err != nil || v.Kind() != ejson.Array {
			return nil, corrupt("rank")
		}
		for e := range v.Elements() {
			list = r.insertValue(list, e)
		}
	}
	return appendValues(list), nil
}

func (ranked) finish(_ string, a Aggregate) ([]byte, error) { return a, nil }

func appendValues(list []ejson.Value) Aggregate {
	out := []byte{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = v.AppendJSON(out)
	}
	return append(out, ']')
}
