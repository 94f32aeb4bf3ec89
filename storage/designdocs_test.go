package storage

import (
	"context"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
)

// batchOdd refuses documents with an odd n, and notes what it was asked.
type batchOdd struct {
	onlyOdd
	asked *[]string
	stamp *string
}

func (h batchOdd) PrepareBatch(_ context.Context, tx *Tx) (ValidateBatchFunc, error) {
	stamp, err := tx.AppendDesignStamp(nil)
	if err != nil {
		return nil, err
	}
	*h.stamp = string(stamp)
	return func(_ context.Context, edits []ValidatedEdit) ([]error, error) {
		var ids []string
		verdicts := make([]error, len(edits))
		for i, e := range edits {
			parent := "-"
			if e.Parent != nil {
				parent = string(e.Parent.Body)
			}
			ids = append(ids, e.Edit.ID+" "+parent)
			if strings.HasSuffix(string(e.Edit.Body), `1}`) {
				verdicts[i] = compat.NewError(compat.KindUnauthorized, "odd")
			}
		}
		*h.asked = append(*h.asked, strings.Join(ids, ","))
		return verdicts, nil
	}, nil
}

func TestBatchValidator(t *testing.T) {
	onStores(t, func(t *testing.T, s *Store) {
		var asked []string
		var stamp string
		s.SetHooks(Hooks{Validator: batchOdd{asked: &asked, stamp: &stamp}})
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		db := s.DB("db")
		rev := put(t, db, "a", "", `{"n":2}`)
		empty := stamp
		asked = nil
		got := update(
			t,
			db,
			UpdateOptions{},
			doc(t, "b", "", `{"n":1}`),
			doc(t, "c", "", `{"n":10}`),
			doc(t, "d", "", `{"n":4}`),
			doc(t, "d", "", `{"n":6}`),
			doc(t, "a", rev, `{"n":8}`),
			doc(t, "a", "", `{"n":8}`),
		)
		want(
			t,
			"verdicts",
			[]any{got[0], got[1], got[2][:2], got[3], got[4][:2], got[5]},
			"[unauthorized forbidden 1- conflict 2- conflict]",
		)
		want(t, "asked", asked, `[a {"n":2},b -,d - d -]`)
		_ = put(t, db, "e", "", `{}`)
		want(t, "the stamp stays with ordinary documents", stamp == empty, true)
		design := put(t, db, "_design/x", "", `{}`)
		_ = put(t, db, "f", "", `{}`)
		first := stamp
		want(t, "the stamp with a design document", first != empty, true)
		put(t, db, "_design/x", design, `{"v":2}`)
		_ = put(t, db, "g", "", `{}`)
		want(t, "the stamp with another revision of it", stamp != first, true)
	})
}
