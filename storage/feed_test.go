package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestFeed shows the rows of the changes feed after writes, and where a scan ends:
// testdata/changes. `go test ./storage -run TestFeed -rewrite` writes down what is there now.
// Commands that write are those of TestKeySpace.
//
//	changes [leaves] [descending] [docs] [conflicts] [limit=N] [after=N]
//
// after names an update by the number that an earlier scan gave it.
func TestFeed(t *testing.T) {
	datadriven.Walk(t, "testdata/changes", func(t *testing.T, path string) {
		s := openStore(t, memkv.New())
		seen := map[uint64]Seq{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "changes" {
				return runKeySpace(t, s, d)
			}
			o := ChangesOptions{
				Limit: -1, AllLeaves: d.HasArg("leaves"), Descending: d.HasArg("descending"),
				IncludeDocs: d.HasArg("docs"), Conflicts: d.HasArg("conflicts"),
			}
			d.MaybeScanArgs(t, "limit", &o.Limit)
			var after uint64
			if d.MaybeScanArgs(t, "after", &after); after > 0 {
				since, ok := seen[after]
				if !ok {
					d.Fatalf(t, "no scan has shown update %d", after)
				}
				o.Since = since
			}
			rows, end := feedText(t, s.DB("db"), o, seen)
			return rows + fmt.Sprintf("last %d, pending %d\n", end.Last.N, end.Pending)
		})
	})
}
