package reduce

import (
	"bytes"
	"encoding/binary"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// ends is _first and _last: the value of the row with the lowest or highest key and id, whatever
// the direction of the query.
//
// Of rows with one key and id, which come in their order, _first keeps the first and _last the
// last.
//
// An aggregate is endsMark, the lengths of key and id as varints, key, id and value.
type ends struct{ last bool }

const endsMark = 4

func (e ends) kind() Kind {
	if e.last {
		return KindLast
	}
	return KindFirst
}

// reduce keeps the best row as the aggregate, so that rereduce is a reduce over the rows that the
// aggregates hold.
func (e ends) reduce(rows []Row) (Aggregate, error) {
	best := rows[0]
	for _, r := range rows[1:] {
		better, err := e.better(r, best)
		if err != nil {
			return nil, err
		}
		if better {
			best = r
		}
	}
	out := append(make([]byte, 0, 8+len(best.Key)+len(best.ID)+len(best.Value)), endsMark)
	out = binary.AppendUvarint(out, uint64(len(best.Key)))
	out = binary.AppendUvarint(out, uint64(len(best.ID)))
	return append(append(append(out, best.Key...), best.ID...), best.Value...), nil
}

// better reports whether a replaces b, which came before (couch_ejson_compare:less_json_ids).
func (e ends) better(a, b Row) (bool, error) {
	order := 0
	if !bytes.Equal(a.Key, b.Key) {
		x, err := ejson.Parse(a.Key)
		if err != nil {
			return false, corrupt("key")
		}
		y, err := ejson.Parse(b.Key)
		if err != nil {
			return false, corrupt("key")
		}
		order = collate.Compare(x, y)
	}
	if order == 0 {
		order = bytes.Compare(a.ID, b.ID)
	}
	return (order < 0) != e.last, nil
}

func (e ends) rereduce(aggregates []Aggregate) (Aggregate, error) {
	rows := make([]Row, len(aggregates))
	for i, a := range aggregates {
		var err error
		if rows[i], err = parseEnd(a); err != nil {
			return nil, err
		}
	}
	return e.reduce(rows)
}

func (e ends) finish(_ string, a Aggregate) ([]byte, error) {
	r, err := parseEnd(a)
	return r.Value, err
}

// parseEnd reads the row that an aggregate holds, without copying. The lengths are checked by
// subtraction, since their sum could overflow.
func parseEnd(a Aggregate) (r Row, err error) {
	if len(a) == 0 || a[0] != endsMark {
		return r, corrupt("_first or _last")
	}
	key, n := binary.Uvarint(a[1:])
	if n <= 0 {
		return r, corrupt("_first or _last")
	}
	a = a[1+n:]
	id, n := binary.Uvarint(a)
	if n <= 0 || key > uint64(len(a)-n) || id > uint64(len(a)-n)-key {
		return r, corrupt("_first or _last")
	}
	a = a[n:]
	return Row{Key: a[:key], ID: a[key : key+id], Value: a[key+id:]}, nil
}
