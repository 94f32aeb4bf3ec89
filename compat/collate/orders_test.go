package collate

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat/ejson"
)

// TestOrders shows values in their orders: testdata/orders, with a value on each line. Comparisons and
// keys have to agree. `-rewrite` writes down the order as it is now.
func TestOrders(t *testing.T) {
	datadriven.RunTest(t, "testdata/orders", func(t *testing.T, d *datadriven.TestData) string {
		compare, key := Compare, AppendKey
		if d.Cmd == "raw" {
			compare, key = CompareRaw, AppendRawKey
		}
		var values []ejson.Value
		for line := range strings.SplitSeq(d.Input, "\n") {
			values = append(values, parsed(t, line))
		}
		slices.SortStableFunc(values, compare)
		shown := new(strings.Builder)
		for i, v := range values {
			if i > 0 {
				order := compare(values[i-1], v)
				if byKey := bytes.Compare(key(nil, values[i-1]), key(nil, v)); byKey != order {
					t.Errorf("%s and %s: %d, their keys %d", values[i-1].Raw(), v.Raw(), order, byKey)
				}
				shown.WriteString(map[bool]string{true: " = ", false: "\n"}[order == 0])
			}
			shown.Write(v.Raw())
		}
		return shown.String() + "\n"
	})
}
