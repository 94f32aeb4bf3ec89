package eventing

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// example reads a function of docs/examples; the texts to be replaced in its definition come in
// pairs.
func (n *node) example(name string, replace ...string) {
	n.t.Helper()
	dir := filepath.Join("..", "docs", "examples")
	text, err := os.ReadFile(filepath.Join(dir, name+".json"))
	require.NoError(n.t, err)
	code, err := os.ReadFile(filepath.Join(dir, name+".js"))
	require.NoError(n.t, err)
	var members map[string]any
	changed := strings.NewReplacer(replace...).Replace(string(text))
	require.NoError(n.t, json.Unmarshal([]byte(changed), &members))
	members["appcode"] = string(code)
	whole, err := json.Marshal(members)
	require.NoError(n.t, err)
	f, err := definition.Parse(whole, definition.ParseOptions{Name: name})
	require.NoError(n.t, err)
	n.create(f.Databases()...)
	_, wrong := n.engine.Compile(n.t.Context(), f)
	if wrong != nil {
		n.t.Fatal(wrong)
	}
	_, err = n.engine.Registry().Put(n.t.Context(), f, nil)
	require.NoError(n.t, err)
	require.Equal(n.t, definition.Deployed, n.deploy(name))
}

// TestExamples runs each function of docs/examples.
func TestExamples(t *testing.T) {
	for name, run := range map[string]func(n *node){
		"enrich": func(n *node) {
			n.example("enrich")
			n.put("contacts", "1", `{"first":"Ada","last":"Lovelace","email":"ada@example.com"}`)
			n.becomes("contacts", "1",
				`{"first":"Ada","last":"Lovelace","email":"ada@example.com","full":"Ada Lovelace","domain":"example.com"}`)
		},
		"totals": func(n *node) {
			n.example("totals")
			n.put("orders", "1", `{"customer":"ada","total":20}`)
			n.put("orders", "2", `{"customer":"ada","total":22}`)
			n.becomes("totals", "customer:ada", `{"orders":2,"total":42}`)
			n.put("orders", "1", `{"customer":"bob","total":5}`)
			n.put("orders", "2", "")
			n.becomes("totals", "customer:ada", `{"orders":0,"total":0}`)
			n.becomes("totals", "customer:bob", `{"orders":1,"total":5}`)
		},
		"cascade": func(n *node) {
			n.example("cascade")
			n.put("notes", "1", `{"owner":"ada"}`)
			n.put("notes", "2", `{"owner":"bob"}`)
			n.put("people", "ada", `{}`)
			n.put("people", "ada", "")
			n.becomes("notes", "1", "")
			require.Equal(n.t, `{"owner":"bob"}`, n.get("notes", "2"))
		},
		"archive": func(n *node) {
			n.example("archive")
			n.put("tasks", "1", `{"state":"open"}`)
			n.put("tasks", "2", `{"state":"done"}`)
			n.eventually(func() bool {
				return strings.HasPrefix(n.get("archive", "2"), `{"state":"done","archived":"1-`)
			}, "the task is not archived")
			require.Empty(n.t, n.get("tasks", "2"))
			require.NotEmpty(n.t, n.get("tasks", "1"))
		},
		"notify": func(n *node) {
			failures := 2
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if failures--; failures >= 0 {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"path":%q,"auth":%q,"body":%s}`, r.URL.Path, r.Header.Get("Authorization"), body)
			}))
			defer shop.Close()
			n.example("notify", "https://shop.example.com", shop.URL)
			n.put("orders", "1", `{"state":"paid","customer":"ada","total":42}`)
			n.eventually(func() bool {
				return strings.HasPrefix(n.get("sent", "1"),
					`{"answer":{"path":"/hooks/orders/1","auth":"Bearer secret","body":{"customer":"ada","total":42}},`)
			}, "the shop was not told: "+n.get("sent", "1"))
		},
		"publish": func(n *node) {
			shop := newReceiver(n.t, func(_, _ string, attempt int) int { return []int{0, 503, 200}[attempt] })
			n.example("publish", "https://shop.example.com", shop.URL)
			n.put("orders", "1", `{"state":"paid","customer":"ada","total":42}`)
			n.becomes("audit", "paid:1", `{"order":"1","customer":"ada","total":42}`)
			n.eventually(func() bool {
				shop.mu.Lock()
				defer shop.mu.Unlock()
				return len(shop.accepted) == 1 && shop.headers.Get("Authorization") == "Bearer secret"
			}, "the shop was not told")
		},
		"expire": func(n *node) {
			n.example("expire")
			n.put("sessions", "1", `{"ttl_seconds":0.2}`)
			n.becomes("counts", "expired", `{"count":1}`)
			require.Empty(n.t, n.get("sessions", "1"))
		},
		"remind": func(n *node) {
			n.example("remind")
			at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
			n.put("tasks", "1", fmt.Sprintf(`{"title":"water","due":%q}`, at(time.Hour)))
			n.put("tasks", "2", fmt.Sprintf(`{"title":"feed","due":%q}`, at(time.Hour)))
			n.put("tasks", "1", fmt.Sprintf(`{"title":"water","due":%q}`, at(50*time.Millisecond)))
			n.becomes("inbox", "reminder:1", `{"text":"due now: water"}`)
			require.Empty(n.t, n.get("inbox", "reminder:2"))
		},
		"recur": func(n *node) {
			n.example("recur", "60 * 1000", "50")
			n.put("tasks", "1", `{"state":"open"}`)
			n.eventually(func() bool {
				var report struct{ Run, Open int }
				text := n.get("reports", "latest")
				return text != "" && json.Unmarshal([]byte(text), &report) == nil && report.Run >= 3 && report.Open == 1
			}, "no third report")
		},
		"mask": func(n *node) {
			n.example("mask")
			n.put("patients", "1", `{"name":"Ada","born":"1815-12-10","zip":"12345","findings":["x"]}`)
			n.eventually(func() bool { return n.count("research") == 1 }, "no copy")
			n.put("patients", "1", "")
			n.eventually(func() bool { return n.count("research") == 0 }, "the copy stays")
		},
		"alert": func(n *node) {
			n.example("alert")
			for i := range 5 {
				const payment = `{"account":"a","amount":300,"time":"2026-11-22T10:0%d:00.000Z"}`
				n.put("payments", fmt.Sprint(i), fmt.Sprintf(payment, i))
			}
			n.put("payments", "old", `{"account":"b","amount":900,"time":"2026-11-20T10:00:00.000Z"}`)
			n.put("payments", "new", `{"account":"b","amount":900,"time":"2026-11-22T10:00:00.000Z"}`)
			n.becomes("alerts", "a:2026-11-22", `{"account":"a","payment":"3"}`)
			n.eventually(func() bool { return n.stat("alert", "on_update_success") == 7 }, "seven events")
			require.EqualValues(n.t, 1, n.count("alerts"))
		},
		"tags": func(n *node) {
			n.example("tags")
			n.put("articles", "1", `{"tags":["db","go"]}`)
			n.put("articles", "2", `{"tags":["go"]}`)
			n.becomes("tags", "tag:go", `{"articles":["1","2"]}`)
			n.put("articles", "1", `{"tags":["db"]}`)
			n.becomes("tags", "tag:go", `{"articles":["2"]}`)
			n.put("articles", "2", "")
			n.becomes("tags", "tag:go", "")
			n.becomes("tags", "tag:db", `{"articles":["1"]}`)
		},
		"unique": func(n *node) {
			n.example("unique")
			n.put("users", "1", `{"name":"ada"}`)
			n.becomes("names", "name:ada", `{"user":"1"}`)
			n.put("users", "2", `{"name":"ada"}`)
			n.becomes("users", "2", `{"name":"ada","name_taken":true}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newAlone(t))
		})
	}
}

// TestExamplesAreAllRun: no function lies in docs/examples that TestExamples does not know.
func TestExamplesAreAllRun(t *testing.T) {
	files, err := filepath.Glob("../docs/examples/*.js")
	require.NoError(t, err)
	source, err := os.ReadFile("examples_test.go")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		require.Contains(t, string(source), fmt.Sprintf("n.example(%q", name))
	}
}
