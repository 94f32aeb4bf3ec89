package views

import (
	"errors"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestPartsCountReads: documents without rows take room in a transaction, too: what they had is
// read in every index.
func TestPartsCountReads(t *testing.T) {
	p := &pass{builder: &builder{v: &Views{opts: Options{KV: memkv.New()}}}, part: 10_000}
	p.indexes = make([]*index, 1000)
	to, last := p.partOf(&batch{docs: make([]source, 5000)}, 0)
	if last || to > 100 {
		t.Errorf("%d documents in one transaction that reads in 1,000 indexes", to)
	}
}

// TestWritersCountReads: a transaction that writes documents takes no more of them than its reads
// in all indexes allow, and no more design documents than rewrite the list of all indexes so often;
// but one in any case.
func TestWritersCountReads(t *testing.T) {
	for _, id := range []string{"a", "_design/a"} {
		u := &interactiveUpdate{v: &Views{opts: Options{KV: memkv.New()}}, list: make(interactiveList, 1000)}
		u.docs = make([]source, 1)
		u.took = 8<<20 - 100_000
		if err := u.add(t.Context(), nil, id, nil, nil); !errors.Is(err, kv.ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	}
	u := &interactiveUpdate{v: &Views{opts: Options{KV: memkv.New()}}}
	if err := u.take(1 << 30); err != nil {
		t.Error(err)
	}
}
