package formats

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
)

// EncodePurge is the value of a purge request in TagPurges: the id (with varint length), then each
// revision likewise, ascending.
func EncodePurge(id string, revs []compat.Rev) []byte {
	value := packed.AppendText(nil, id)
	revs = slices.Clone(revs)
	slices.SortFunc(revs, compat.Rev.Compare)
	for _, rev := range revs {
		value = packed.AppendText(value, string(EncodeWinner(nil, rev)))
	}
	return value
}

// ParsePurge reads what EncodePurge wrote. With an error there is what could be read before it.
func ParsePurge(value []byte) (id string, revs []compat.Rev, err error) {
	r := packed.Reader{B: value}
	id = r.Text()
	for len(r.B) > 0 {
		rev, err := ParseWinner(r.Bytes())
		if err != nil {
			return id, revs, err
		}
		revs = append(revs, rev)
	}
	if r.Bad {
		return id, revs, keyspace.Corrupt("purge", nil)
	}
	return id, revs, nil
}

// ByID puts together the places of the requests for each document, in the order in which documents
// come first.
func ByID[T any](requests []T, id func(T) string) [][]int {
	at := make(map[string]int)
	var groups [][]int
	for i := range requests {
		n, ok := at[id(requests[i])]
		if !ok {
			n = len(groups)
			at[id(requests[i])] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], i)
	}
	return groups
}
