package levels_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// scripts runs map and reduce functions. reduce_limit is left to js, which has its own tests.
type scripts struct{ vm *goja.Runtime }

func newScripts(t testing.TB) *scripts {
	s := &scripts{goja.New()}
	_, err := s.vm.RunString(`var rows; function emit(k, v) { rows.push([JSON.stringify(k === undefined ? null : k),
		JSON.stringify(v === undefined ? null : v)]) }
		function sum(v) { var n = 0; for (var i in v) n += v[i]; return n }
		function isArray(v) { return Array.isArray(v) }
		function toJSON(v) { return JSON.stringify(v) }
		function log() {}`)
	must(t, err)
	return s
}

func (s *scripts) call(source string, args string) ([]byte, error) {
	v, err := s.vm.RunString(
		"(function () { try { var r = JSON.stringify((" + strings.TrimSuffix(strings.TrimSpace(source), ";") +
			").apply(null, " + args + ")); return r === undefined ? 'null' : r } catch (e) { return 'null' } })()",
	)
	if err != nil {
		return nil, err
	}
	return []byte(v.String()), nil
}

// Reduce implements reduce.JavaScript.
func (s *scripts) Reduce(_ context.Context, source string, groups [][]reduce.Row) (out []reduce.Value, err error) {
	for _, g := range groups {
		var keys, values []string
		for _, r := range g {
			keys = append(keys, fmt.Sprintf("[%s,%s]", r.Key, ejson.AppendString(nil, r.ID)))
			values = append(values, string(r.Value))
		}
		v, err := s.call(source, "[["+strings.Join(keys, ",")+"],["+strings.Join(values, ",")+"],false]")
		if err != nil {
			return nil, err
		}
		out = append(out, reduce.Value{JSON: canonical(v)})
	}
	return out, nil
}

// Rereduce implements reduce.JavaScript.
func (s *scripts) Rereduce(_ context.Context, source, _ string, groups [][][]byte) (out []reduce.Value, err error) {
	for _, g := range groups {
		var values []string
		for _, v := range g {
			values = append(values, string(v))
		}
		v, err := s.call(source, "[null,["+strings.Join(values, ",")+"],true]")
		if err != nil {
			return nil, err
		}
		out = append(out, reduce.Value{JSON: canonical(v)})
	}
	return out, nil
}

// canonical is JSON as the server prints it.
func canonical(text []byte) []byte {
	v, err := ejson.Parse(text)
	if err != nil {
		return text
	}
	return v.AppendJSON(nil)
}

// mapped are the rows of a map function over documents.
func (s *scripts) mapped(t *testing.T, source string, docs []json.RawMessage) (rows []testRow) {
	for _, doc := range docs {
		v, err := s.vm.RunString(
			"rows = []; (function () { try { (" + source + ")(" + string(
				doc,
			) + ") } catch (e) { rows = [] } })(); JSON.stringify(rows)",
		)
		must(t, err)
		var emitted [][2]string
		must(t, json.Unmarshal([]byte(v.String()), &emitted))
		var id struct {
			ID string `json:"_id"`
		}
		must(t, json.Unmarshal(doc, &id))
		var own []testRow
		for _, e := range emitted {
			own = append(
				own,
				testRow{key: string(canonical([]byte(e[0]))), id: id.ID, value: string(canonical([]byte(e[1])))},
			)
		}
		slices.SortStableFunc(own, func(a, b testRow) int {
			va, _ := ejson.Parse([]byte(a.value))
			vb, _ := ejson.Parse([]byte(b.value))
			return collate.CompareRaw(va, vb)
		})
		for i := range own {
			own[i].dup = uint64(i)
		}
		rows = append(rows, own...)
	}
	return rows
}

// handled are the options of queries that this test knows.
var handled = []string{
	"key", "startkey", "endkey", "descending", "group", "group_level", "limit", "skip", "inclusive_end", "reduce", "start_key", "end_key",
}

// queryOf makes a query of a URL's options; ok is false for those of other tests.
func queryOf(options url.Values) (q levels.Query, ok bool) {
	q.Limit = -1
	q.Descending = options.Get("descending") == "true"
	low, high := "startkey", "endkey"
	if q.Descending {
		low, high = high, low
	}
	for name, list := range options {
		if !slices.Contains(handled, name) {
			return q, false
		}
		value := list[len(list)-1]
		key := func() []byte {
			v, err := ejson.Parse([]byte(value))
			if err != nil {
				ok = false
				return nil
			}
			return collate.AppendKey(nil, v)
		}
		ok = true
		switch name = strings.Replace(name, "_key", "key", 1); name {
		case "key":
			q.Start = key()
			q.End = append(key(), 0xff)
		case low:
			if q.Start = key(); q.Descending && options.Get("inclusive_end") == "false" {
				q.Start = append(q.Start, 0xff)
			}
		case high:
			if q.End = key(); q.Descending || options.Get("inclusive_end") != "false" {
				q.End = append(q.End, 0xff)
			}
		case "group":
			if value == "true" && options.Get("group_level") == "" {
				q.Level = levels.Exact
			}
		case "group_level":
			n, err := strconv.Atoi(value)
			ok = err == nil
			q.Level = n
		case "limit", "skip":
			n, err := strconv.ParseInt(value, 10, 64)
			ok = err == nil
			if name == "limit" {
				q.Limit = n
			} else {
				q.Skip = n
			}
		case "reduce":
			ok = value == "true"
		}
		if !ok {
			return q, false
		}
	}
	return q, true
}

var masked = regexp.MustCompile(`<masked>|<ref>`)

// Every value that CouchDB gave for a reduce query is what these packages give, byte for byte, with
// levels that are settled and without.
func TestRecordedValues(t *testing.T) {
	compared := 0
	for _, file := range []string{"views-reduce", "views-matrix", "views-options"} {
		for _, sc := range storagetest.Recordings(t, file) {
			t.Run(file+"/"+sc.Name, func(t *testing.T) {
				var docs []json.RawMessage
				views := map[string]map[string]struct{ Map, Reduce any }{}
				for _, step := range sc.Steps {
					method, path, _ := strings.Cut(step.Do, " ")
					path = strings.TrimPrefix(path, "/$db")
					switch {
					case method == "POST" && path == "/_bulk_docs":
						var body struct{ Docs []json.RawMessage }
						must(t, json.Unmarshal(step.JSON, &body))
						docs = append(docs, body.Docs...)
					case method == "PUT" && strings.HasPrefix(path, "/_design/"):
						var ddoc struct {
							Views    map[string]struct{ Map, Reduce any }
							Options  any
							Language string
						}
						if json.Unmarshal(step.JSON, &ddoc) == nil && step.Expect.Status == 201 &&
							ddoc.Options == nil &&
							ddoc.Language == "" {
							views[strings.TrimPrefix(path, "/_design/")] = ddoc.Views
						}
					case method == "PUT" && strings.Count(path, "/") == 1 && !strings.Contains(path, "?"):
						docs = append(docs, append([]byte(`{"_id":"`+path[1:]+`",`), step.JSON[1:]...))
					case method == "GET" && strings.Contains(path, "/_view/") && step.Expect.Status == 200:
						path, query, _ := strings.Cut(path, "?")
						part := strings.Split(path, "/")
						if len(part) != 5 || len(views) == 0 {
							continue
						}
						v := views[part[2]][part[4]]
						source, isText := v.Reduce.(string)
						mapSource, _ := v.Map.(string)
						options, err := url.ParseQuery(query)
						q, ok := queryOf(options)
						body := step.Expect.Body
						if err != nil || !isText || !ok {
							continue
						}
						// The globals of JavaScript are for js to test.
						if sc.Name == "custom-environment" || masked.MatchString(body) ||
							strings.Contains(body, "overflow") ||
							strings.Contains(mapSource, "options") {
							continue
						}
						want := strings.TrimSuffix(strings.TrimPrefix(body, "{\"rows\":[\r\n"), "\r\n]}\n")
						compareRecorded(t, step.Do, mapSource, source, docs, q, want)
						compared++
					}
				}
			})
		}
	}
	if compared < 200 {
		t.Errorf("only %d recorded answers were compared", compared)
	}
}

func compareRecorded(
	t *testing.T,
	name, mapSource, source string,
	docs []json.RawMessage,
	q levels.Query,
	want string,
) {
	t.Helper()
	s := newScripts(t)
	rows := map[string][]byte{}
	for _, r := range s.mapped(t, mapSource, docs) {
		key, value := r.encode()
		rows[string(key)] = value
	}
	for _, refresh := range []bool{true, false} {
		store := memkv.New()
		slots := slotsOf(t, s, source)
		x := newIndex(levels.Config{Levels: 3, Fan: 4, Sums: true}, slots)
		must(t, change(t.Context(), store, x, refresh, rows))
		got, err := answer(t.Context(), store, x, slots[0], q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if text := strings.Join(got, ",\r\n"); text != want {
			t.Errorf("%s (%s, settled %v):\n%s\nwant\n%s", name, source, refresh, text, want)
		}
		must(t, store.Close())
	}
}

// brokenLine is where CouchDB breaks a printed term into lines, which is one line here
// (docs/adr/0061).
var brokenLine = regexp.MustCompile(`\n *`)

// The errors with which CouchDB refuses to index rows below _stats.
func TestRecordedIndexErrors(t *testing.T) {
	compared := 0
	for _, sc := range storagetest.Recordings(t, "views-reduce") {
		var docs []json.RawMessage
		var mapSource string
		for _, step := range sc.Steps {
			if !strings.HasPrefix(sc.Name, "stats-") {
				break
			}
			var body struct {
				Docs  []json.RawMessage
				Views struct {
					V struct{ Map, Reduce string }
				}
			}
			if step.JSON != nil && json.Unmarshal(step.JSON, &body) == nil {
				if docs = append(docs, body.Docs...); body.Views.V.Map != "" {
					mapSource = body.Views.V.Map
				}
			}
			var reason string
			if step.Expect.Status != 500 {
				continue
			}
			v, err := ejson.Parse([]byte(step.Expect.Body))
			must(t, err)
			if r, found := v.Get("reason"); found {
				reason = brokenLine.ReplaceAllString(r.Text(), "")
			}
			s := newScripts(t)
			stored := map[string]testRow{}
			var keys []string
			for _, r := range s.mapped(t, mapSource, docs) {
				key, _ := r.encode()
				stored[string(key)] = r
				keys = append(keys, string(key))
			}
			slices.Sort(keys)
			var rows []reduce.Row
			for _, k := range keys {
				r := stored[k]
				rows = append(rows, reduce.Row{Key: []byte(r.key), ID: []byte(r.id), Value: []byte(r.value)})
			}
			var got *compat.Error
			if !errors.As(reduce.CheckRows("_stats", rows), &got) || got.Name != "invalid_value" ||
				got.Reason != reason ||
				!got.Ref {
				t.Errorf("%s %s:\n%+v\nwant\n%s", sc.Name, step.Do, got, reason)
			}
			compared++
		}
	}
	if compared < 10 {
		t.Errorf("only %d errors were compared", compared)
	}
}
