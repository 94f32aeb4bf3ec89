package js

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/storagetest"
)

type designDoc struct {
	Views map[string]json.RawMessage
}

func (d *designDoc) mapOf(t *testing.T, name string) string {
	var view struct{ Map string }
	require.NoError(t, json.Unmarshal(d.Views[name], &view))
	return view.Map
}

// engineMessage finds the message of an error that the engine made: two engines do not have the
// same ones (docs/adr/0062).
var engineMessage = regexp.MustCompile(`\(new (\w*Error)\("(?:[^"\\]|\\.)*"|THROWS (\w*Error): (?:[^"\\]|\\.)*`)

func withoutMessages(text string) string { return engineMessage.ReplaceAllString(text, "$1$2") }

// TestRecordings runs the functions of the recorded scenarios about JavaScript without a server:
// what they emit, and what is said when they are saved.
func TestRecordings(t *testing.T) {
	p := newTestPool(t, Options{})
	for _, s := range storagetest.Recordings(t, "views-js") {
		var docs [][]byte
		designs := map[string]*designDoc{}
		for _, step := range s.Steps {
			method, path, _ := strings.Cut(step.Do, " /$db")
			id, view, isView := strings.Cut(path, "/_view/")
			switch {
			case path == "/_bulk_docs":
				var body struct{ Docs []json.RawMessage }
				require.NoError(t, json.Unmarshal(step.JSON, &body))
				for _, d := range body.Docs {
					docs = append(docs, d)
				}
			case method == "PUT" && strings.HasPrefix(path, "/_design/"):
				d := &designDoc{}
				require.NoError(t, json.Unmarshal(step.JSON, d))
				designs[path] = d
				checkSaved(t, p, s.Name, d, step.Expect.Status, step.Expect.Body)
			case method == "PUT" && path == "/a":
				docs = append(docs, []byte(strings.Replace(`{"_id":"a",`+string(step.JSON)[1:], ",}", "}", 1)))
			case isView && step.Expect.Status == 200 && s.Name != "timeout":
				name, _, _ := strings.Cut(view, "?")
				checkRows(t, p, s.Name+" "+step.Do, designs[id], name, docs, step.Expect.Body)
			}
		}
	}
}

func checkSaved(t *testing.T, p *Pool, name string, d *designDoc, status int, answer string) {
	var refusal struct{ Error, Reason string }
	if status == 0 || json.Unmarshal([]byte(answer), &refusal) != nil || refusal.Error == "invalid_design_doc" {
		return
	}
	for view := range d.Views {
		if view == "lib" {
			continue
		}
		err := p.CheckMap(context.Background(), "db", d.mapOf(t, view))
		if status == 201 {
			assert.NoError(t, err, name)
			continue
		}
		reason := strings.TrimPrefix(refusal.Reason, "Compilation of the map function in the '"+view+"' view failed: ")
		if assert.Error(t, err, name) {
			assert.Equal(t, withoutMessages(refusal.Error+": "+reason), withoutMessages(err.Error()), name)
		}
	}
}

func checkRows(t *testing.T, p *Pool, name string, d *designDoc, view string, docs [][]byte, answer string) {
	var want struct {
		Rows []struct{ Key, Value json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &want))
	program := NewMapProgram("db", []string{d.mapOf(t, view)}, d.Views["lib"])
	results, err := p.Map(context.Background(), program, docs)
	require.NoError(t, err, name)
	var got, recorded []string
	for _, r := range results {
		for _, row := range r[0].Rows {
			got = append(got, withoutMessages(string(row.Key)+":"+string(row.Value)))
		}
	}
	for _, row := range want.Rows {
		recorded = append(recorded, withoutMessages(string(row.Key)+":"+string(row.Value)))
	}
	assert.ElementsMatch(t, recorded, got, name)
}

// TestExpressions evaluates expressions and compares with what CouchDB 3.5.0 gave for them:
// testdata/expressions.json has pairs of a function body and the value or `THROWS` with the error,
// of which the kind counts.
func TestExpressions(t *testing.T) {
	kvtest.Long(t)
	b, err := os.ReadFile("testdata/expressions.json")
	require.NoError(t, err)
	var pairs [][2]any
	require.NoError(t, json.Unmarshal(b, &pairs))
	var source strings.Builder
	source.WriteString(
		"function(doc){ var r = []; function t(f){ try { r.push(f()); } catch (e) { r.push('THROWS ' + e); } }\n",
	)
	for _, p := range pairs {
		source.WriteString("t(function(){ " + p[0].(string) + " });\n")
	}
	source.WriteString("emit(1, r); }")
	doc := `{"_id":"a","n":1,"s":"str","a":[1,{"b":2}],"o":{"p":{}},"nul":null}`
	results, err := newTestPool(
		t,
		Options{},
	).Map(
		context.Background(),
		NewMapProgram("db", []string{source.String()}, nil),
		[][]byte{[]byte(doc)},
	)
	require.NoError(t, err)
	require.Empty(t, results[0][0].Err)
	rows := results[0][0].Rows
	var got []any
	require.NoError(t, json.Unmarshal(rows[len(rows)-1].Value, &got))
	require.Len(t, got, len(pairs))
	for i, p := range pairs {
		assert.Equal(t, kindOfError(p[1]), kindOfError(got[i]), p[0])
	}
}

// kindOfError leaves the message of what was thrown away.
func kindOfError(v any) any {
	if text, ok := v.(string); ok && strings.HasPrefix(text, "THROWS ") {
		v, _, _ = strings.Cut(text, ": ")
	}
	return v
}
