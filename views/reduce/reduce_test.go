package reduce_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/reduce"
)

func newFunc(t interface{ Fatalf(string, ...any) }, source string) reduce.Func {
	f, err := reduce.New(source, reduce.Options{})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return f
}

func rowsOf(values ...string) []reduce.Row {
	rows := make([]reduce.Row, len(values))
	for i, v := range values {
		rows[i] = reduce.Row{
			Key:   strconv.AppendInt(nil, int64(i), 10),
			ID:    fmt.Appendf(nil, "d%d", i),
			Value: []byte(v),
		}
	}
	return rows
}

// value reduces rows in one go.
func value(f reduce.Func, rows []reduce.Row) (string, error) {
	ctx := context.Background()
	aggs, err := f.Reduce(ctx, [][]reduce.Row{rows})
	if err != nil {
		return "", err
	}
	values, err := f.Finish(ctx, "db/_design/d/_view/v", aggs)
	if err != nil {
		return "", err
	}
	return string(values[0].JSON), nil
}

// TestValues shows what functions make of rows: testdata/values. The command is a function, a line of
// its input the values of rows, with bars between them; the output is the value that a query shows, or
// the reason of the error. `-rewrite` writes down what it is now.
func TestValues(t *testing.T) {
	datadriven.RunTest(t, "testdata/values", func(t *testing.T, d *datadriven.TestData) string {
		shown := new(strings.Builder)
		for line := range strings.SplitSeq(d.Input, "\n") {
			got, err := value(newFunc(t, d.Cmd), rowsOf(strings.Split(line, "|")...))
			var e *compat.Error
			if errors.As(err, &e) {
				got = "error: " + e.Reason
			} else if err != nil {
				got = "internal: " + err.Error()
			}
			fmt.Fprintf(shown, "%s → %s\n", line, got)
		}
		return shown.String()
	})
}

func TestNames(t *testing.T) {
	for source, want := range map[string]string{
		"_sum": "", "_sumx": "", "_count2": "", "_stats_": "", "_sum ": "", "_approx_count_distinct_x": "", "_firsts": "", "_last1": "",
		"_top_1": "", "_top_+5": "", "_bottom_007": "", "_top_100": "",
		"_foo": "`_foo` is not a supported reduce function.", "_": "`_` is not a supported reduce function.",
		"_top": "`_top` is not a supported reduce function.", "_SUM": "`_SUM` is not a supported reduce function.",
		"_top_": "invalid rank reducer", "_top_x": "invalid rank reducer", "_top_1.5": "invalid rank reducer", "_top_--1": "invalid rank reducer",
		"_top_0": "rank value must be between 1 and 100", "_bottom_101": "rank value must be between 1 and 100",
		"_top_-1": "rank value must be between 1 and 100", "_top_99999999999999999999": "rank value must be between 1 and 100",
	} {
		err := reduce.CheckName(source)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", source, err)
		case want != "":
			var e *compat.Error
			if !errors.As(err, &e) || e.Reason != want || e.Kind != compat.KindInvalidDesignDoc {
				t.Errorf("%q: %v, want %s", source, err, want)
			}
			if _, err := reduce.New(source, reduce.Options{}); err == nil {
				t.Errorf("%q makes a function", source)
			}
		}
	}
	for source, want := range map[string]string{"_sumx": "_sum", "_top_+007": "_top_7", "_top_3": "_top_3", "function(){}": "function(){}", "_x": "_x"} {
		if got := reduce.Canonical(source); got != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
	}
}

// However rows are put in groups, what comes out is the same, where the order of additions does not
// show.
func TestPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(
			[]string{"_sum", "_count", "_stats", "_approx_count_distinct", "_top_3", "_bottom_4", "_first", "_last"},
		).Draw(
			t,
			"f",
		)
		f := newFunc(t, source)
		number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 5))
		var values []string
		for range rapid.IntRange(1, 60).Draw(t, "rows") {
			values = append(values, strconv.FormatInt(number.Draw(t, "value"), 10))
		}
		rows := rowsOf(values...)
		want, err := value(f, rows)
		if err != nil {
			t.Fatal(err)
		}
		var groups [][]reduce.Row
		for rest := rows; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "group")
			groups = append(groups, rest[:n])
			rest = rest[n:]
		}
		aggs, err := f.Reduce(context.Background(), groups)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := f.Rereduce(context.Background(), [][]reduce.Aggregate{aggs})
		if err != nil {
			t.Fatal(err)
		}
		if len(merged[0]) == 0 || merged[0][0] == 0 {
			t.Fatalf("aggregate %q", merged[0])
		}
		got, err := f.Finish(context.Background(), "db/_design/d/_view/v", merged)
		if err != nil || string(got[0].JSON) != want {
			t.Fatalf("%s of %s: %s %v, want %s", source, values, got[0].JSON, err, want)
		}
	})
}

// An exact tally is what the function makes of the rows one by one; only fractions, other values
// and sums beyond 64 bits are not.
func TestTally(t *testing.T) {
	kinds := map[string]reduce.Kind{"_count": reduce.KindCount, "_sum": reduce.KindSum, "_stats": reduce.KindStats}
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom([]string{"_count", "_sum", "_stats"}).Draw(t, "function")
		f, kind := newFunc(t, source), kinds[source]
		most := rapid.SampledFrom([]int64{5, 1 << 28, 1 << 57}).Draw(t, "most")
		number := rapid.Int64Range(-most, most)
		var tally reduce.Tally
		var each []reduce.Aggregate
		small := true
		for range rapid.IntRange(1, 40).Draw(t, "rows") {
			text := strconv.FormatInt(number.Draw(t, "n"), 10)
			if rapid.IntRange(0, 30).Draw(t, "odd") == 0 {
				odd := []string{"0.5", "-9223372036854775808", "9223372036854775807"}
				text = rapid.SampledFrom(odd).Draw(t, "value")
				small = false
			}
			tally.Add(kind, []byte(text))
			one, err := f.Reduce(t.Context(), [][]reduce.Row{rowsOf(text)})
			if err != nil {
				t.Fatal(err)
			}
			each = append(each, one...)
		}
		if small && !tally.Exact(kind) {
			t.Fatalf("the tally of %s is not exact", each)
		}
		want, err := f.Rereduce(t.Context(), [][]reduce.Aggregate{each})
		if err != nil {
			t.Fatal(err)
		}
		if tally.Exact(kind) && string(tally.Aggregate(kind)) != string(want[0]) {
			t.Errorf("%s of %s is %s, tallied %s", source, each, want[0], tally.Aggregate(kind))
		}
	})
}

// _sum of integers is exact, and that of floats the one of adding them one by one.
func TestSumAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exact, float, isFloat := new(big.Int), 0.0, false
		var values []string
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				f := rapid.Float64Range(-1e15, 1e15).Draw(t, "float")
				if f == math.Trunc(f) {
					f += 0.5
				}
				values = append(values, strconv.FormatFloat(f, 'e', -1, 64))
				if !isFloat {
					float, _ = new(big.Float).SetInt(exact).Float64()
				}
				isFloat = true
				float += f
				continue
			}
			n := new(big.Int).Mul(big.NewInt(rapid.Int64().Draw(t, "n")), big.NewInt(rapid.Int64().Draw(t, "m")))
			values = append(values, n.String())
			if exact.Add(exact, n); isFloat {
				f, _ := new(big.Float).SetInt(n).Float64()
				float += f
			}
		}
		got, err := value(newFunc(t, "_sum"), rowsOf(values...))
		if err != nil {
			t.Fatal(err)
		}
		if isFloat {
			if f, err := strconv.ParseFloat(got, 64); err != nil || f != float {
				t.Fatalf("%s: %s, want %g", values, got, float)
			}
		} else if got != exact.String() {
			t.Fatalf("%s: %s, want %s", values, got, exact)
		}
	})
}

// Estimates of many keys are near their number.
func TestEstimates(t *testing.T) {
	f := newFunc(t, "_approx_count_distinct")
	for _, n := range []int{1, 100, 1500, 3000, 8000, 20000, 100000} {
		rows := make([]reduce.Row, n)
		for i := range rows {
			rows[i] = reduce.Row{Key: fmt.Appendf(nil, `"key %d"`, i), ID: []byte("d"), Value: []byte("1")}
		}
		got, err := value(f, rows)
		if err != nil {
			t.Fatal(err)
		}
		if k, err := strconv.Atoi(got); err != nil || math.Abs(float64(k-n)) > 0.07*float64(n)+1 {
			t.Errorf("%d keys: %s", n, got)
		}
	}
}

// Large sums are refused unless they shrink, or the limit is off.
func TestSumOverflow(t *testing.T) {
	var member []string
	for i := range 400 {
		member = append(member, fmt.Sprintf(`"key%d":1`, i))
	}
	row := "{" + strings.Join(member, ",") + "}"
	limited := newFunc(t, "_sum")
	if got, err := value(limited, rowsOf(row)); err != nil ||
		!strings.Contains(got, "Reduce output must shrink more rapidly: input size: ") {
		t.Errorf("%s %v", got, err)
	}
	free, err := reduce.New("_sum", reduce.Options{Limit: func() reduce.Limit { return reduce.Limit{} }})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := value(free, rowsOf(row)); err != nil || got != row {
		t.Errorf("%s %v", got, err)
	}
}

// TestSumLimit: what the settings say decides, the coordinator's overflow names the view, and log
// only tells.
func TestSumLimit(t *testing.T) {
	var told []string
	warn := func(message string) { told = append(told, message) }
	for _, c := range []struct {
		limit      reduce.Limit
		over, told bool
	}{
		{reduce.Limit{On: true, Threshold: 20, Ratio: 2}, true, false},
		{reduce.Limit{On: true, Threshold: 20, Ratio: 0.5}, false, false},
		{reduce.Limit{On: true, Threshold: 1000, Ratio: 2}, false, false},
		{reduce.Limit{Log: true, Threshold: 20, Ratio: 2, Warn: warn}, false, true},
		{reduce.Limit{Threshold: 20, Ratio: 2, Warn: warn}, false, false},
	} {
		told = nil
		f, err := reduce.New("_sum", reduce.Options{Limit: func() reduce.Limit { return c.limit }})
		if err != nil {
			t.Fatal(err)
		}
		row := "[" + strings.Repeat("1,", 30) + "1]"
		values, err := f.Finish(t.Context(), "db/_design/d/_view/v", []reduce.Aggregate{reduce.Aggregate(row)})
		if err != nil {
			t.Fatal(err)
		}
		got := string(values[0].JSON)
		if c.over != strings.HasSuffix(got, ` context: db/_design/d/_view/v"}`) || !c.over && got != row {
			t.Errorf("%+v: %s", c.limit, got)
		}
		if c.told != (len(told) == 1) || c.told && !strings.Contains(told[0], "context: db/_design/d/_view/v") {
			t.Errorf("%+v: the log has %q", c.limit, told)
		}
	}
}

// fakeScript gives an overflow for groups of two rows.
type fakeScript struct{ calls *int }

func (f fakeScript) Reduce(_ context.Context, _ string, groups [][]reduce.Row) ([]reduce.Value, error) {
	*f.calls++
	out := make([]reduce.Value, len(groups))
	for i, g := range groups {
		if out[i].JSON = []byte("1"); len(g) == 2 {
			out[i] = reduce.Value{Overflow: "too large"}
		}
	}
	return out, nil
}

func (f fakeScript) Rereduce(_ context.Context, _, _ string, groups [][][]byte) ([]reduce.Value, error) {
	*f.calls++
	out := make([]reduce.Value, len(groups))
	for i, g := range groups {
		out[i].JSON = slices.Concat([]byte("["), slices.Concat(g...), []byte("]"))
	}
	return out, nil
}

// An overflow passes through everything that follows; each method is one call.
func TestJavaScript(t *testing.T) {
	calls := 0
	f, err := reduce.New("function(){}", reduce.Options{JavaScript: fakeScript{&calls}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	aggs, err := f.Reduce(ctx, [][]reduce.Row{rowsOf("1"), rowsOf("1", "2"), rowsOf("1", "2", "3")})
	if err != nil {
		t.Fatal(err)
	}
	merged, err := f.Rereduce(ctx, [][]reduce.Aggregate{aggs, {aggs[0], aggs[2]}})
	if err != nil {
		t.Fatal(err)
	}
	values, err := f.Finish(ctx, "db/_design/d/_view/v", merged)
	if err != nil {
		t.Fatal(err)
	}
	if values[0].Overflow != "too large" || string(values[1].JSON) != "[[11]]" || calls != 3 {
		t.Errorf("%q after %d calls", values, calls)
	}
}

// Whatever is stored, nothing panics, and errors say that the store is corrupt or what CouchDB
// says.
func FuzzAggregates(f *testing.F) {
	for i, s := range []string{"1", "[1,2,3,4,5]", "[[1,2,3,4,5],[]]", "\x02\x00\x01\x05", "\x03", "\x04\x01\x011a2", `{"a":1}`, "[null]", "\x01x", ""} {
		f.Add(i, []byte(s), []byte(s))
	}
	sources := []string{"_sum", "_count", "_stats", "_approx_count_distinct", "_top_3", "_bottom_2", "_first", "_last"}
	f.Fuzz(func(t *testing.T, n int, a, b []byte) {
		fn := newFunc(t, sources[uint(n)%uint(len(sources))])
		ctx := context.Background()
		merged, err := fn.Rereduce(ctx, [][]reduce.Aggregate{{a, b}})
		if err == nil {
			_, err = fn.Finish(ctx, "db/_design/d/_view/v", merged)
		}
		var e *compat.Error
		if err != nil && !errors.As(err, &e) && !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%q %q: %v", a, b, err)
		}
		fn.Finish(ctx, "db/_design/d/_view/v", []reduce.Aggregate{a})
		fn.Reduce(ctx, [][]reduce.Row{{{Key: a, ID: b, Value: b}, {Key: b, ID: a, Value: a}}})
		reduce.CheckRows("_stats", []reduce.Row{{Value: a}, {Value: b}})
	})
}
