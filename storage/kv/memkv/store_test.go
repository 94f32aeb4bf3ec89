package memkv_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// disks hold what the stores of a test leave behind, by directory.
type disks map[string]*memkv.Disk

func (d disks) open(t testing.TB, dir string) kv.Store { return kvtest.OpenMem(t, d, dir) }

func TestContract(t *testing.T) { kvtest.Run(t, disks{}.open) }

func TestMetamorphic(t *testing.T) {
	d := disks{}
	kvtest.Metamorphic(t, func(t testing.TB, dir string, _ *rand.Rand) kv.Store { return d.open(t, dir) }, nil)
}

func TestDiskIsLocked(t *testing.T) {
	disk := memkv.NewDisk()
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Open(); !errors.Is(err, kv.ErrLocked) {
		t.Fatalf("opened twice: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Open(); err != nil {
		t.Fatal(err)
	}
}
