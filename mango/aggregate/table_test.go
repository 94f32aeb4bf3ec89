package aggregate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/views/reduce"
)

func request(t testing.TB, text string) *Request {
	t.Helper()
	r, err := Parse(parse(t, text), mango.Defaults{Limit: 25})
	check(t, err)
	return r
}

// Groups have a bound in number and in bytes, of which more is asked for before it is taken.
func TestGroupsAreBounded(t *testing.T) {
	r := request(t, `{"group_by":["a"],"values":{"n":{"$count":true},"last":{"$last":"b"},"who":{"$distinct":"b"}}}`)
	ctx := context.Background()
	take := func(table *table, n int, b string) error {
		values := []ejson.Value{parse(t, fmt.Sprint(n)), parse(t, b)}
		return table.add(ctx, fmt.Appendf(nil, "%d", n), values)
	}
	for name, b := range map[string]string{"many": `0`, "long": `"` + strings.Repeat("x", 60_000) + `"`} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			table := r.newTable(func(bytes int) error { asked = max(asked, bytes); return nil })
			var err error
			n := 0
			for ; err == nil && n <= maxGroups+1; n++ {
				err = take(table, n, b)
			}
			if !errors.Is(err, errFull) {
				t.Fatalf("after %d groups: %v", n, err)
			}
			if asked < table.kept/4 || table.kept > 2*maxKept {
				t.Errorf("%d bytes were asked for and %d are kept", asked, table.kept)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		full := errors.New("no memory")
		table := r.newTable(func(bytes int) error {
			if bytes > 4<<20 {
				return full
			}
			return nil
		})
		var err error
		for n := 0; err == nil && n < maxGroups; n++ {
			err = take(table, n, `0`)
		}
		if !errors.Is(err, full) || table.kept > 8<<20 {
			t.Errorf("%v with %d bytes", err, table.kept)
		}
	})
}

// Groups that do not fit into memory are read in the order of an index, if there is one; else the
// error names it.
func TestTooManyGroups(t *testing.T) {
	w := open(t, false)
	w.fill(t, 0, 1100, func(n int) string { return fmt.Sprintf(`{"a":%d,"b":%q}`, n, strings.Repeat("x", 64<<10)) })
	groups, by := 0, `"a"`
	ask := func() error {
		p, err := NewPlan(request(t, `{"selector":{"a":{"$gte":0}},"group_by":[`+by+`],"values":{"b":{"$first":"b"}},
			"limit":1200}`), w.indexes, false)
		check(t, err)
		groups = 0
		_, err = p.Run(t.Context(), w.src, func([]byte) error { groups++; return nil })
		return err
	}
	err := ask()
	if !errors.Is(err, compat.KindBadRequest) || groups > 0 ||
		!strings.Contains(err.Error(), `an index of the fields ["a"]`) {
		t.Fatalf("%v, %d groups", err, groups)
	}
	w.index(t, "i", "a")
	by = `{"field":"a","floor":1}`
	if err := ask(); !errors.Is(err, compat.KindBadRequest) || !strings.Contains(err.Error(), "No index helps") {
		t.Errorf("by a floor: %v", err)
	}
	by = `"a"`
	if err := ask(); err != nil || groups != 1100 {
		t.Fatalf("%v, %d groups", err, groups)
	}
}

// A thousand different values are counted exactly; more are the estimate that a view has of them.
func TestDistinctBecomesAnEstimate(t *testing.T) {
	r := request(t, `{"values":{"who":{"$distinct":"a"}}}`)
	ctx := context.Background()
	table := r.newTable(nil)
	var rows []reduce.Row
	for n := range 3 * maxExact {
		json := fmt.Sprintf(`"user %d"`, n)
		rows = append(rows, reduce.Row{Key: []byte(json)})
		for range 2 {
			check(t, table.add(ctx, nil, []ejson.Value{parse(t, json)}))
		}
		if n+1 != maxExact && n+1 != maxExact+1 && n+1 != 3*maxExact {
			continue
		}
		want := fmt.Sprintf(`{"key":[],"who":%d}`, n+1)
		if n+1 > maxExact {
			a, err := estimates.Reduce(ctx, [][]reduce.Row{rows})
			check(t, err)
			v, err := estimates.Finish(ctx, "", a)
			check(t, err)
			want = fmt.Sprintf(`{"key":[],"who":%s,"approximate":true}`, v[0].JSON)
		}
		_, err := table.page(ctx, false, func(group []byte) error {
			if string(group) != want {
				t.Errorf("%s, not %s", group, want)
			}
			return nil
		})
		check(t, err)
	}
}

// Requests of strangers never end the process; what is taken is a request whose pages go on where
// they ended.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"selector":{"status":"complete"},
			"group_by":["customer.country",{"field":"date","prefix":7},{"field":"t","floor":3600}],
			"values":{"n":{"$count":true},"total":{"$sum":"amount"},"s":{"$stats":"amount"},"who":{"$distinct":"customer"}},
			"sort":[{"total":"desc"}],"limit":25,"bookmark":null,"execution_stats":true}`,
		`{"values":{"a":{"$avg":"x"},"b":{"$min":"x"},"c":{"$max":"x"},"d":{"$first":"x"},"e":{"$last":"x"}},
			"sort":["key","a"]}`,
		`{"values":{"n":{"$count":true}},"bookmark":"WyIiLFtdXQ","use_index":"d"}`,
		`{"group_by":[{"field":"a\\.b","floor":1e400}],"values":{"n":{"$count":true}}}`,
	} {
		f.Add(seed, `{"status":"complete","date":"2026-11-27","t":-1.5e300,"amount":1e308}`)
	}
	f.Fuzz(func(t *testing.T, body, doc string) {
		v, err := ejson.Parse([]byte(body))
		if err != nil || v.Kind() != ejson.Object {
			return
		}
		r, err := Parse(v, mango.Defaults{Limit: 25})
		if err != nil {
			return
		}
		d, err := ejson.Parse([]byte(doc))
		if err != nil {
			return
		}
		values := make([]ejson.Value, len(r.fields))
		for i, field := range r.fields {
			values[i], _ = at(d, field)
		}
		table := r.newTable(nil)
		if err := table.add(t.Context(), []byte("id"), values); err != nil {
			return // a sum beyond all doubles
		}
		for _, g := range table.groups {
			done, err := r.finish(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ejson.Parse(done.row); err != nil {
				t.Fatalf("%s: %v", done.row, err)
			}
			again, err := r.parseBookmark(parse(t, `"`+r.bookmark(&done.place)+`"`))
			if err != nil || r.compare(again, &done.place) != 0 {
				t.Errorf("a bookmark is another place: %v", err)
			}
		}
	})
}
