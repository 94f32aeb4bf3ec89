//go:build fdb

package fdbkv

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	mrand "math/rand/v2"
	"os"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// run tells this run of the tests from all others on the cluster.
var run = rand.Text()

// needCluster skips a test where no cluster is given.
func needCluster(t testing.TB) {
	if os.Getenv("FDB_CLUSTER_FILE") == "" {
		t.Skip("no FoundationDB cluster to test on: FDB_CLUSTER_FILE is not set")
	}
}

// openDir opens the store of a directory: the directory becomes a prefix of this run, which is
// cleared in the end.
func openDir(t testing.TB, dir string) kv.Store { return openStore(t, dir) }

func openStore(t testing.TB, dir string) *Store {
	needCluster(t)
	sum := sha256.Sum256([]byte(dir))
	s, err := Open(Options{Prefix: "test-settee/" + run[:10] + "/" + hex.EncodeToString(sum[:4])})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		inCluster(t, s, func(tr fdb.Transaction) { tr.ClearRange(prefixRange(s.space.prefix)) })
	})
	return s
}

// inCluster runs a transaction beside the store.
func inCluster(t testing.TB, s *Store, fn func(fdb.Transaction)) {
	t.Helper()
	_, err := s.db.Transact(func(tr fdb.Transaction) (any, error) {
		fn(tr)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	needCluster(t)
	kvtest.Run(t, openDir)
}

// agedVersions is less than what a snapshot is behind by when it cannot be read any more: five
// seconds on a slow machine, or nothing but a recovery of the cluster.
const agedVersions = 4_500_000

func TestMetamorphic(t *testing.T) {
	needCluster(t)
	var unknown bool // what became of the last commit
	open := func(t testing.TB, dir string, _ *mrand.Rand) kv.Store {
		s := openStore(t, dir)
		s.send = func(tr fdb.Transaction) error {
			err := commit(tr)
			unknown = isUnknown(err)
			return err
		}
		return s
	}
	kvtest.Metamorphic(t, open, func(was, is uint64) bool { return unknown || is >= was+agedVersions })
}

// The contract holds also when commits fail and lose their outcomes at random.
func TestContractWithLostOutcomes(t *testing.T) {
	needCluster(t)
	kvtest.RunAgain(t, func(t testing.TB, dir string) kv.Store {
		s := openStore(t, dir)
		s.send = func(tr fdb.Transaction) error {
			switch mrand.IntN(6) {
			case 0:
				return fdb.Error{Code: codeUnknownResult}
			case 1:
				if err := commit(tr); err != nil {
					return err
				}
				return fdb.Error{Code: codeUnknownResult}
			}
			return commit(tr)
		}
		return s
	})
}
