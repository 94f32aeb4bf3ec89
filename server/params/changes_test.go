package params

import (
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
)

func FuzzChangesOptions(f *testing.F) {
	f.Add("feed=live&since=now&heartbeat=true&limit=1&filter=a/b&style=all_docs&seq_interval=3")
	f.Fuzz(func(t *testing.T, query string) {
		q := compat.ParseQuery(query)
		if o, err := ParseChanges(q, "", false); err == nil {
			if d, _ := o.Wait(time.Minute); o.Limit < 0 || o.SeqInterval < 0 || d < 0 || d > time.Minute {
				t.Fatalf("%+v", o)
			}
			_, _ = o.CheckFeed()
			_ = o.ReadFilter(q, false, mustParse(t, ""), true)
		} else if _, ok := compat.AsError(err); !ok {
			t.Fatalf("not an Error: %v", err)
		}
		if o, err := ParseDBUpdates(q); err == nil {
			if d, _ := o.Wait(time.Minute); o.Limit < 0 || d < 0 || d > time.Minute {
				t.Fatalf("%+v", o)
			}
		}
	})
}
