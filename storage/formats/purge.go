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
