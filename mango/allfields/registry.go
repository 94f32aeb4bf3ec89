package allfields

import (
	"slices"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// registry is the list of a database's indexes. It is one value, which every writer of documents
// reads.
type registry struct {
	// Number of the next index. Numbers are never given twice, so that rows of an old index are
	// never taken for those of a new one.
	next    uint64
	indexes []registered
}

type registered struct {
	Definition
	exclude [][]byte // keys of Definition.Exclude
	// Its place below keyIndex.
	number uint64
	// The Version of its rows.
	version string
	ready   bool
}

// current reports whether the rows, as far as there are any, are what this program writes.
func (r *registered) current() bool { return r.version == Version }

// current reports whether all indexes are of this program's version.
func (r *registry) current() bool {
	return !slices.ContainsFunc(r.indexes, func(x registered) bool { return !x.current() })
}

// ready reports whether all indexes can be read.
func (r *registry) ready() bool {
	return !slices.ContainsFunc(r.indexes, func(x registered) bool { return !x.ready || !x.current() })
}

// append encodes: next, then for each index its definition as bytes, so that those of other
// versions can be passed over, number, version, ready.
func (r *registry) append(dst []byte) []byte {
	dst = tuple.AppendUint(dst, r.next)
	for i := range r.indexes {
		x := &r.indexes[i]
		dst = tuple.AppendUint(tuple.AppendBytes(dst, appendDefinition(nil, &x.Definition)), x.number)
		dst = tuple.AppendBool(tuple.AppendString(dst, x.version), x.ready)
	}
	return dst
}

// parseRegistry reads the registry as it is stored; a database without one has no indexes.
func parseRegistry(src []byte) (*registry, error) {
	r := new(registry)
	if len(src) == 0 {
		return r, nil
	}
	next, rest, err := tuple.ReadInt(src)
	for err == nil && len(rest) > 0 {
		var x registered
		var definition []byte
		if definition, rest, err = tuple.ReadBytes(rest); err != nil {
			break
		}
		if x.Definition, _, err = readDefinition(definition); err != nil {
			break
		}
		var number int64
		if number, rest, err = tuple.ReadInt(rest); err != nil {
			break
		}
		if x.version, rest, err = tuple.ReadString(rest); err != nil {
			break
		}
		x.number, x.exclude = uint64(number), x.excluded()
		if x.ready, rest, err = tuple.ReadBool(rest); err == nil {
			r.indexes = append(r.indexes, x)
		}
	}
	if err != nil {
		return nil, corrupt("registry")
	}
	r.next = uint64(next)
	return r, nil
}

// replace makes the indexes of one design document be those defined now. An index that stays as it
// was keeps its rows. It gives the numbers of those that are gone; changed reports whether the
// registry has to be written.
func (r *registry) replace(designDoc string, now []Definition) (gone []uint64, changed bool) {
	var kept []registered
	for _, x := range r.indexes {
		same := func(d Definition) bool { return d.equal(&x.Definition) }
		if x.DesignDoc == designDoc && !slices.ContainsFunc(now, same) {
			gone = append(gone, x.number)
			continue
		}
		kept = append(kept, x)
	}
	changed = len(gone) > 0
	r.indexes = kept
	for _, d := range now {
		if !slices.ContainsFunc(kept, func(x registered) bool { return x.equal(&d) }) {
			r.indexes = append(r.indexes,
				registered{Definition: d, exclude: d.excluded(), number: r.next, version: Version})
			r.next++
			changed = true
		}
	}
	return gone, changed
}

// upgraded is the registry with new numbers for the indexes of another version, to be built anew;
// gone are their old ones.
func (r *registry) upgraded() (next *registry, gone []uint64) {
	r = &registry{next: r.next, indexes: slices.Clone(r.indexes)}
	for i := range r.indexes {
		if x := &r.indexes[i]; !x.current() {
			gone = append(gone, x.number)
			x.number, x.version, x.ready = r.next, Version, false
			r.next++
		}
	}
	return r, gone
}
