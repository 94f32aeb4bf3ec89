package reduce_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views/reduce"
)

// The statistics of fields are those that _stats has of the numbers alone, however rows are put
// together; what no number is counts apart.
func TestFieldsAreStatsOfNumbers(t *testing.T) {
	fields, stats := newFunc(t, reduce.Fields), newFunc(t, "_stats")
	ctx := context.Background()
	pool := []string{
		"", "null", "0", "-3", "7", "2.5", "1.0e200", `"a"`, "[1]", "true", "9223372036854775807",
		"1" + strings.Repeat("0", 63), "1" + strings.Repeat("0", 64),
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom(pool), 1, 12).Draw(t, "values")
		var aggregates []reduce.Aggregate
		var numbers []string
		others, unknown := 0, false
		for _, text := range values {
			v, _ := ejson.Parse([]byte(text))
			isNumber := v.Kind() == ejson.Int || v.Kind() == ejson.Double
			switch {
			case isNumber && (len(text) > 64 || text == "1.0e200"):
				unknown = true
			case isNumber:
				numbers = append(numbers, text)
			case text != "":
				others++
			}
			row := fmt.Sprintf("[null,%s]", reduce.FieldValue(nil, v))
			a, err := fields.Reduce(ctx, [][]reduce.Row{rowsOf(row)})
			if err != nil {
				t.Fatal(err)
			}
			aggregates = append(aggregates, a[0])
		}
		for len(aggregates) > 1 {
			i := rapid.IntRange(0, len(aggregates)-2).Draw(t, "joined")
			a, err := fields.Rereduce(ctx, [][]reduce.Aggregate{{aggregates[i+1], aggregates[i]}})
			if err != nil {
				t.Fatal(err)
			}
			aggregates[i] = a[0]
			aggregates = append(aggregates[:i+1], aggregates[i+2:]...)
		}
		rows, list, err := reduce.ParseFields(aggregates[0])
		if err != nil || rows != int64(len(values)) || len(list) != 2 {
			t.Fatalf("%d rows, %d fields: %v", rows, len(list), err)
		}
		if none := list[0]; none.Unknown || none.Others+none.Count > 0 {
			t.Errorf("a field that is nowhere: %+v", none)
		}
		if len(aggregates[0]) > 700 {
			t.Errorf("an aggregate of two fields has %d bytes", len(aggregates[0]))
		}
		f := list[1]
		counted := f.Others == int64(others) && f.Count == int64(len(numbers))
		if f.Unknown != unknown || !unknown && !counted {
			t.Fatalf("%v: %+v", values, f)
		}
		if unknown || len(numbers) == 0 {
			return
		}
		want, err := stats.Reduce(ctx, [][]reduce.Row{rowsOf(numbers...)})
		if err != nil {
			t.Fatal(err)
		}
		var both [2][]float64
		for i, a := range []reduce.Aggregate{want[0], list[1].Stats} {
			v, _ := ejson.Parse(a)
			for e := range v.Elements() {
				n, err := strconv.ParseFloat(string(e.AppendJSON(nil)), 64)
				if err != nil {
					t.Fatal(err)
				}
				both[i] = append(both[i], n)
			}
		}
		for i, n := range both[0] {
			if diff := n - both[1][i]; diff > 1e-9*max(n, -n) || -diff > 1e-9*max(n, -n) {
				t.Fatalf("%v: %s, not %s", values, list[1].Stats, want[0])
			}
		}
	})
}

// Rows and aggregates that no code of ours writes do not end the process.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`[1,[0,1,2,3,4,5],null]`, `[1,[0]]`, `[]`, `null`, `[[1]]`, `[1,5]`, `[true,1]`, `{"a":1}`,
	} {
		f.Add(seed, `[1,false]`)
	}
	f.Fuzz(func(t *testing.T, aggregate, row string) {
		fn := newFunc(t, reduce.Fields)
		ctx := context.Background()
		list, err := fn.Reduce(ctx, [][]reduce.Row{rowsOf(row, "null", row)})
		if err != nil {
			return
		}
		joined, err := fn.Rereduce(ctx, [][]reduce.Aggregate{{list[0], reduce.Aggregate(aggregate)}})
		if err != nil {
			return
		}
		if _, _, err := reduce.ParseFields(joined[0]); err != nil {
			t.Fatalf("%s: %v", joined[0], err)
		}
	})
}
