package js

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/confine"
)

// hostile functions with what their caller gets; "" accepts any error, "ok" any end.
var hostile = []struct{ name, source, want string }{
	{"endless loop", "function(doc){ while (true) {} }", "os_process_error: OS process timed out."},
	{
		"endless loop that catches",
		"function(doc){ while (true) { try { for (;;) {} } catch (e) {} finally { continue; } } }",
		"os_process_error: OS process timed out.",
	},
	{
		"endless generator",
		"function(doc){ for (var x of (function*(){ while (true) yield 1; })()) {} }",
		"os_process_error: OS process timed out.",
	},
	{
		"endless getter",
		"function(doc){ emit({get a(){ for (;;) {} }}, 1); }",
		"os_process_error: OS process timed out.",
	},
	{
		"endless toJSON",
		"function(doc){ emit(1, {toJSON: function(){ for (;;) {} }}); }",
		"os_process_error: OS process timed out.",
	},
	{
		"endless toString of what is thrown",
		"function(doc){ throw {toString: function(){ for (;;) {} }}; }",
		"os_process_error: OS process timed out.",
	},
	{"endless top level", "for (;;) {} function(doc){}", "os_process_error: OS process timed out."},
	{"endless promises", "async doc => { for (;;) await 1; }", "os_process_error: OS process timed out."},
	{"endless log", "function(doc){ for (;;) log('x'); }", "os_process_error: OS process timed out."},
	{
		"regular expression",
		"function(doc){ emit(/(?=.*b)^(a|aa)+c$/.test('a'.repeat(80) + 'b'), 1); }",
		"os_process_error: OS process timed out.",
	},
	{"built-in loop", "function(doc){ emit(new Array(5e8).fill(0).length, 1); }", ""},
	{"huge string", "function(doc){ var s = 'x'.repeat(1e9); emit(s.length, 1); }", ""},
	{"strings", "function(doc){ var a = []; for (;;) a.push('x'.repeat(1e6) + a.length); }", ""},
	{"objects", "function(doc){ var a = []; for (;;) a.push({a: a.length}); }", ""},
	{"typed array", "function(doc){ new Uint8Array(4e9); }", ""},
	{"join", "function(doc){ emit(new Array(1e9).join('abcdefgh').length, 1); }", ""},
	{
		"emits",
		"function(doc){ for (;;) emit(1, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'); }",
		"",
	},
	{"nesting", "function(doc){ var a = []; for (var i = 0; i < 1e7; i++) a = [a]; emit(a, 1); }", ""},
	{"recursion", "function(doc){ (function f(){ f(); })(); }", "InternalError: too much recursion"},
	{
		"recursion that catches",
		"function(doc){ (function f(){ try { f(); } catch (e) { f(); } })(); }",
		"InternalError: too much recursion",
	},
	{"recursion through built-ins", "function(doc){ (function f(){ [1].map(f); })(); }", ""},
	{
		"recursion of toString",
		"function(doc){ var a = {}; a.toString = function(){ return '' + a; }; emit('' + a, 1); }",
		"",
	},
	{
		"recursion of a proxy",
		"function(doc){ var p = new Proxy({}, {get: function(t, n, r){ return r[n]; }}); emit(p.a, 1); }",
		"",
	},
	{"cyclic", "function(doc){ var a = {}; a.a = a; emit(1, a); }", "TypeError: {[]}"},
	{"BigInt", "function(doc){ emit(1, BigInt(1)); }", "TypeError: {[]}"},
	{"null", "function(doc){ throw null; }", "TypeError: {[]}"},
	{"fatal", "function(doc){ throw ['fatal', 'not_found', 'x']; }", "not_found: x"},
	{"fatal_error", "function(doc){ throw 'fatal_error'; }", "map_runtime_error: function raised 'fatal_error'"},
	{"broken source", strings.Repeat("(", 100000), ""},
	{"long source", "function(doc){ var a = [" + strings.Repeat("1,", 300) + "]; emit(a.length, 1); }", "ok"},
	{"lost promise", "async doc => { await 1; throw new Error('x'); }", "ok"},
}

// TestHostile runs every hostile function, of three databases at a time, while another database's
// functions go on.
func TestHostile(t *testing.T) {
	const memory = 256 << 20
	p := newTestPool(t, Options{Workers: 4, Memory: memory, Timeout: hostileTime, MaxResult: 32 << 20})
	done := make(chan struct{})
	var largest, calls int64
	var slowest time.Duration
	var good, bad sync.WaitGroup
	good.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			start := time.Now()
			_, err := p.Map(
				context.Background(),
				NewMapProgram("good", []string{"function(doc){ emit(doc.a, 1); }"}, nil),
				[][]byte{[]byte(`{"a":1}`)},
			)
			if err != nil {
				t.Errorf("another database: %v", err)
			}
			calls, slowest, largest = calls+1, max(slowest, time.Since(start)), max(largest, largestChild())
		}
	})
	step := 3
	if testing.Short() {
		step = 12 // a quarter of them
	}
	for first := range 3 {
		bad.Go(func() {
			for i := first; i < len(hostile); i += step {
				runHostile(t, p, "bad"+string(rune('a'+first)), i)
			}
		})
	}
	bad.Wait()
	close(done)
	good.Wait()
	t.Logf(
		"%d calls of another database meanwhile, the slowest took %v; the largest worker had %d MB",
		calls,
		slowest,
		largest>>20,
	)
	require.Greater(t, calls, int64(5))
	// The bound, what Go reserves and mostly leaves untouched (confine.Reserved), and the program
	// itself: what many small allocations may come to. Mostly it is 275 MB.
	require.Less(t, largest, int64(memory+confine.Reserved+48<<20))
}

func runHostile(t *testing.T, p *Pool, tenant string, i int) {
	h := hostile[i]
	start := time.Now()
	_, err := p.Map(
		context.Background(),
		NewMapProgram(tenant, []string{h.source}, nil),
		[][]byte{[]byte(`{"_id":"a"}`)},
	)
	switch {
	case h.want == "ok":
		assert.NoError(t, err, h.name)
	case h.want != "":
		assert.EqualError(t, err, h.want, h.name)
	default:
		assert.Error(t, err, h.name)
	}
	t.Logf("%-36s %8.3f s  %v", h.name, time.Since(start).Seconds(), shorten(err))
}

// largestChild is the most memory that a process has had resident which still lives and was started
// by this one, or by one that was, in bytes; 0 where there is no /proc.
func largestChild() int64 {
	parents, resident := map[int]int{}, map[int]int64{}
	own, _ := os.ReadFile("/proc/self/cmdline")
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		// Until its program begins, a process that is being started has this one's memory, and its
		// command line.
		command, err := os.ReadFile(dir + "/cmdline")
		if err != nil || bytes.Equal(command, own) {
			continue
		}
		b, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue
		}
		var pid, parent int
		var kb int64
		for line := range strings.Lines(string(b)) {
			_, _ = fmt.Sscanf(line, "Pid: %d", &pid)
			_, _ = fmt.Sscanf(line, "PPid: %d", &parent)
			_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &kb)
		}
		parents[pid], resident[pid] = parent, kb<<10
	}
	largest := int64(0)
	for pid, size := range resident {
		if parents[pid] == os.Getpid() || parents[parents[pid]] == os.Getpid() {
			largest = max(largest, size)
		}
	}
	return largest
}

func shorten(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()[:min(len(err.Error()), 100)]
}

// TestStarvation lets many hostile calls of one database wait; those of others pass by.
func TestStarvation(t *testing.T) {
	p := newTestPool(t, Options{Workers: 2, Timeout: hostileTime})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			_, _ = p.Map(
				ctx,
				NewMapProgram("bad", []string{"function(doc){ for (;;) {} }"}, nil),
				[][]byte{[]byte(`{}`)},
			)
		})
	}
	time.Sleep(100 * time.Millisecond)
	for i := range 6 {
		start := time.Now()
		require.NoError(t, p.CheckMap(context.Background(), "good"+string(rune('a'+i)), "function(doc){}"))
		require.Less(t, time.Since(start), 10*hostileTime) // the 30 take 15
	}
	cancel()
	wg.Wait()
	require.LessOrEqual(t, p.Stats().Running, 2)
}

// TestMemoryAcrossDocuments fills a global from document to document: the crossing ends, the next
// one begins empty.
func TestMemoryAcrossDocuments(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector ends with the memory before the worker can say so")
	}
	p := newTestPool(t, Options{Memory: 256 << 20})
	docs := make([][]byte, 10)
	for i := range docs {
		docs[i] = []byte(`{"_id":"a"}`)
	}
	source := "function(doc){ if (typeof all === 'undefined') all = []; all.push('x'.repeat(5e7 + all.length)); emit(all.length, 1); }"
	_, err := p.Map(context.Background(), NewMapProgram("db", []string{source}, nil), docs)
	if err != nil { // on a slow machine crossings end before the memory is full, and begin empty
		require.ErrorContains(t, err, "os_process_error: OS process ran out of memory, its limit is 256 MB.")
	}
	got, err := mapText(t, p, strings.Replace(source, "5e7", "5", 1), "", `{"_id":"a"}`, `{"_id":"b"}`)
	require.NoError(t, err)
	require.Equal(t, "1:1|2:1|", got)
}

// TestIsolation changes everything that a realm has; documents, other functions and other calls see
// nothing of it.
func TestIsolation(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	poison := `function(doc){
  Object.prototype.poison = 1; Array.prototype.push = function(){ throw 1; }; JSON.stringify = function(){ return '"poison"'; };
  JSON.parse = null; Object.freeze = Object.keys = Reflect.ownKeys = Function.prototype.call = function(){ throw 2; };
  Object.prototype.toJSON = function(){ return 'poison'; }; String.prototype.split = null; toJSON = isArray = sum = log = 1;
  var real = emit; real('mine', doc.n); emit = null; doc.__proto__.n = 5; doc.n = 7; doc.a.b = 8; Error = TypeError = null;
  Object.defineProperty(Object.prototype, 'length', {value: 3}); this[0] = null; this.length = 0; undefined = 3; globalThis.doc = doc;
}`
	clean := `function(doc){ emit(doc._id, [typeof doc.poison, doc.n, doc.a, Object.keys(doc), JSON.stringify(doc.a), typeof globalThis.doc, Array.isArray([].concat(doc.a))]); }`
	docs := [][]byte{[]byte(`{"_id":"a","n":1,"a":{"b":2}}`), []byte(`{"_id":"b","n":2,"a":{"b":3}}`)}
	results, err := p.Map(context.Background(), NewMapProgram("db", []string{poison, clean}, nil), docs)
	require.NoError(t, err)
	want := `["undefined",1,{"b":2},["_id","n","a"],"{\"b\":2}","undefined",true]`
	require.Equal(t, "1", string(results[0][0].Rows[0].Value))
	require.Equal(t, want, string(results[0][1].Rows[0].Value))
	results, err = p.Map(context.Background(), NewMapProgram("other", []string{clean}, nil), docs)
	require.NoError(t, err)
	require.Equal(t, want, string(results[0][0].Rows[0].Value))
}

// TestCancel ends the caller's context in the middle of a call.
func TestCancel(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := p.Map(ctx, NewMapProgram("db", []string{"function(doc){ for (;;) {} }"}, nil), [][]byte{[]byte(`{}`)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 30*time.Second) // the timeout of the pool is a minute
	require.NoError(t, p.CheckMap(context.Background(), "db", "function(doc){}"))
}

// TestIdle lets unused workers end.
func TestIdle(t *testing.T) {
	p := newTestPool(t, Options{Idle: 50 * time.Millisecond})
	require.NoError(t, p.CheckMap(context.Background(), "db", "function(doc){}"))
	require.Eventually(t, func() bool { return p.Stats().Running == 0 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, p.CheckMap(context.Background(), "db", "function(doc){}"))
	require.Equal(t, int64(2), p.Stats().Started)
	p.Close()
	require.ErrorIs(t, p.CheckMap(context.Background(), "db", "function(doc){}"), errClosed)
}
