package server_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// stops notes which packages lie between a request and the transactions that it begins.
type stops struct {
	kv.Store
	mu sync.Mutex
	at map[string]int // the packages, with how many others come before each at the most
}

func (s *stops) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	s.note()
	return s.Store.View(ctx, fn)
}

func (s *stops) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	s.note()
	return s.Store.Update(ctx, fn)
}

// note takes the packages from the stack, the outermost first and each once: one that is called
// again, as a handler by what is around all handlers, gets back what it had passed down. Stacks of
// jobs and of what follows the store do not begin with a request.
func (s *stops) note() {
	callers := make([]uintptr, 200)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	var inner []string
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if name, ok := strings.CutPrefix(frame.Function, "github.com/settee-db/settee/"); ok {
			dir, name := path.Split(name)
			name, _, _ = strings.Cut(name, ".")
			inner = append(inner, dir+name)
		}
	}
	slices.Reverse(inner)
	request := slices.Index(inner, "server")
	if request < 0 || !slices.Contains(inner, "server/servertest") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var passed []string
	for _, name := range inner[request:] {
		if !slices.Contains(passed, name) {
			s.at[name] = max(s.at[name], len(passed))
			passed = append(passed, name)
		}
	}
}

// take gives the packages since the last call in their order, with the engine's contract as the
// last.
func (s *stops) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.at
	s.at = map[string]int{}
	var all []string
	for name := range at {
		if name != "storage/kv" { // helpers of the contract's own
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if at[a] != at[b] {
			return at[a] - at[b]
		}
		return strings.Compare(a, b)
	})
	return "`" + strings.Join(append(all, "storage/kv"), "` `") + "`"
}

// TestStops: the packages that a request passes on its way to the engine are those that
// docs/architecture.md lists, and few enough to be read in one go.
func TestStops(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	require.NoError(t, err)
	engine := &stops{Store: memkv.New(), at: map[string]int{}}
	s := servertest.NewJSOn(t, engine)
	require.Equal(t, 201, s.Do("PUT", "/db/first", `{"a":1}`).Code)
	require.Equal(t, 200, s.Do("POST", "/db/_index", `{"index":{"fields":["a"]}}`).Code)
	s.PutDesign("d", `{"views":{"v":{"map":"function (doc) { emit(doc.a) }"}},
		"indexes":{"i":{"index":"function (doc) { index('a', doc.a) }"}}}`)
	for _, r := range []struct {
		name, method, target, body string
		most                       int
	}{
		{"PUT /db/doc", "PUT", "/db/doc", `{"a":1}`, 8},
		{"GET /db/_changes", "GET", "/db/_changes", "", 8},
		{"GET …/_view/v", "GET", "/db/_design/d/_view/v", "", 8},
		{"POST /db/_find", "POST", "/db/_find", `{"selector":{"a":1}}`, 10},
		{"GET …/_search/i", "GET", "/db/_design/d/_search/i?q=a:1", "", 10},
	} {
		for range 2 { // the first one may build an index
			engine.take()
			w := s.Do(r.method, r.target, r.body)
			require.Contains(t, []int{200, 201, 409}, w.Code, w.Body.String())
		}
		passed := engine.take()
		if row := fmt.Sprintf("\n| `%s` | %s |\n", r.name, passed); !strings.Contains(string(text), row) {
			t.Errorf("docs/architecture.md does not have the row%s", row)
		}
		if n := len(strings.Fields(passed)); n > r.most {
			t.Errorf("%s passes %d packages, more than %d", r.name, n, r.most)
		}
	}
}
