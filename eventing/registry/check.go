package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// LastInstance is the number that was given last to an instance, as a snapshot has it.
func LastInstance(tx kv.ReadTx) (int64, error) {
	n, err := readCount(tx, key(keyNextInstance))
	return int64(n), err
}

// Instances gives the functions that are not undeployed by their instances, as a snapshot has them.
// Records that are malformed are left out.
func Instances(tx kv.ReadTx) (map[int64]*Record, error) {
	all := make(map[int64]*Record)
	err := eachText(tx, func(s stored) {
		if r, wrong := s.parse(); wrong == "" && r.Instance != 0 {
			all[r.Instance] = r
		}
	})
	return all, err
}

// Check verifies invariants 4 and 6 of what is stored, and describes each violation.
func Check(ctx context.Context, store kv.Store) (found []string, err error) {
	err = store.View(ctx, func(tx kv.ReadTx) error {
		found = nil
		wrong := func(what string, err error) {
			if err != nil {
				found = append(found, fmt.Sprintf("invariant 6: %s: %v", what, err))
			}
		}
		_, err := readCount(tx, ChangesKey())
		wrong("number of changes", err)
		_, err = readConfig(tx)
		wrong("configuration", err)
		last, err := LastInstance(tx)
		if err != nil {
			last = math.MaxInt64
		}
		wrong("number of the last instance", err)
		_, debugging := readDebugging(tx)
		wrong("debug sessions", debugging)
		owners := make(map[int64]definition.Ref)
		return eachText(tx, func(s stored) {
			r, wrong := s.parse()
			if wrong != "" {
				found = append(found, fmt.Sprintf("invariant 6: function %q: %s", s.key, wrong))
				return
			}
			for _, wrong := range r.disagrees(last) {
				found = append(found, fmt.Sprintf("invariant 4: function %s: %s", r.Ref(), wrong))
			}
			if other, taken := owners[r.Instance]; taken && r.Instance != 0 {
				found = append(found, fmt.Sprintf("invariant 4: function %s: has instance %d as %s has", r.Ref(),
					r.Instance, other))
			}
			owners[r.Instance] = r.Ref()
		})
	})
	return found, err
}

// disagrees tells where state and instance of a record do not go together.
func (r *Record) disagrees(last int64) (wrong []string) {
	undeployed := r.State == definition.Undeployed
	if undeployed != (r.Deployed == nil) {
		wrong = append(wrong, fmt.Sprintf("is %s, and has a deployed version: %t", r.State, r.Deployed != nil))
	}
	if undeployed != (r.Instance == 0) {
		wrong = append(wrong, fmt.Sprintf("is %s as instance %d", r.State, r.Instance))
	}
	if r.Instance < 0 || r.Instance > last {
		wrong = append(wrong, fmt.Sprintf("has instance %d, the last one is %d", r.Instance, last))
	}
	return wrong
}

// stored is a record as it is stored: its key and its text, and what is wrong with its pieces.
type stored struct {
	key   []byte // without the tag
	text  []byte
	wrong string
}

// eachText calls fn for each record of a snapshot.
func eachText(tx kv.ReadTx, fn func(stored)) error {
	prefix := key(keyFunction)
	begin, end := children(prefix)
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var s stored
	pieces := int64(0)
	for it.Next() {
		k := it.Key()[len(prefix):]
		rest, isPiece := bytes.CutPrefix(k, s.key)
		if n, rest, err := tuple.ReadInt(rest); pieces > 0 && isPiece && err == nil && len(rest) == 0 {
			if n != pieces || len(s.text) != int(pieces)*chunkSize {
				s.wrong = fmt.Sprintf("piece %d follows %d bytes", n, len(s.text))
			}
			s.text = append(s.text, it.Value()...)
			pieces++
			continue
		}
		if pieces > 0 {
			fn(s)
		}
		s, pieces = stored{key: bytes.Clone(k), text: bytes.Clone(it.Value())}, 1
	}
	if pieces > 0 {
		fn(s)
	}
	return it.Err()
}

// parse gives the record, or what is wrong with it.
func (s stored) parse() (r *Record, wrong string) {
	if s.wrong != "" {
		return nil, s.wrong
	}
	if err := json.Unmarshal(s.text, &r); err != nil {
		return nil, err.Error()
	}
	switch {
	case r == nil || r.Draft == nil:
		return nil, "no definition"
	case !r.State.Known():
		return nil, "unknown state " + string(r.State)
	case !bytes.Equal(functionKey(r.Ref()), append(key(keyFunction), s.key...)):
		return nil, "the record is of " + r.Ref().String()
	}
	return r, ""
}
