package views

import (
	"testing"

	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestPartsCountReads: documents without rows take room in a transaction, too: what they had is read in every index.
func TestPartsCountReads(t *testing.T) {
	p := &pass{builder: &builder{v: &Views{opts: Options{KV: memkv.New()}}}, part: 10_000}
	p.indexes = make([]*index, 1000)
	to, last := p.partOf(&batch{docs: make([]source, 5000)}, 0)
	if last || to > 100 {
		t.Errorf("%d documents in one transaction that reads in 1,000 indexes", to)
	}
}
