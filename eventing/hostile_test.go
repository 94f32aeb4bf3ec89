package eventing

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostileCode has a handler for each way to take more than its share.
const hostileCode = `
function fire() {}
function OnUpdate(doc, meta) {
	switch (doc.how) {
	case "loop": for (;;) {}
	case "memory": var list = []; for (;;) list.push(new Array(1e6).fill(list.length));
	case "writes": for (var i = 0; ; i++) dst["w" + i] = {n: i};
	case "large": for (var i = 0; ; i++) dst["l" + i] = {text: "x".repeat(1e6)};
	case "timers": for (var i = 0; ; i++) createTimer(fire, new Date(4e12), "t" + i, {});
	case "logs": for (var i = 0; i < 2e5; i++) log("line " + i + "x".repeat(1000)); break;
	case "recursion": var f = function (n) { return f(n + 1) + 1; }; f(0); break;
	case "reads": for (var i = 0; i < 1e9; i++) dst["r" + i];
	case "queries": for (;;) { var rows = SELECT * FROM dst; for (var row of rows) { log(row); break; } }
	case "open": var open = []; for (;;) { var rows = SELECT * FROM dst; rows[Symbol.iterator]().next(); open.push(rows); }
	case "regex": /^(a+)+(?!b)$/.test("a".repeat(40)); break;
	case "globals": Object.prototype.poison = 1; globalThis.poison = 1; Array.prototype.push = null; break;
	case "catch": for (;;) { try { for (;;) {} } catch (e) {} }
	case "generator": function* g() { try { yield 1; } finally { for (;;) {} } } for (var x of g()) break;
	case "throw": throw {toString: function () { for (;;) {} }};
	case "getter": dst["g"] = {get a() { for (;;) {} }}; break;
	}
}`

// TestHostileHandlers: whatever a handler does costs its own event. Another function and writers go
// on meanwhile.
func TestHostileHandlers(t *testing.T) {
	n := newAlone(t, "src", "dst", "good")
	n.define("bad", hostileCode, `{"execution_timeout":1}`, "+dst=dst")
	n.deploy("bad")
	n.define("f", `function OnUpdate(doc, meta) { good[meta.id] = {poison: typeof poison}; }`, "", "+good=good")
	n.deploy("f")
	hows := []string{"loop", "memory", "writes", "large", "timers", "logs", "recursion", "reads", "queries", "open", "regex",
		"globals", "catch", "generator", "throw", "getter"}
	if testing.Short() {
		hows = hows[:8]
	}
	for _, how := range hows {
		n.put("src", "bad-"+how, fmt.Sprintf(`{"how":%q}`, how))
	}
	var worst time.Duration
	for i := range 40 {
		began := time.Now()
		id := fmt.Sprint("innocent-", i)
		n.put("src", id, `{}`)
		n.becomes("good", id, `{"poison":"undefined"}`)
		worst = max(worst, time.Since(began))
	}
	t.Logf("the innocent's worst event took %s", worst)
	n.eventually(func() bool {
		done := n.stat("bad", "on_update_success") + n.stat("bad", "on_update_failure")
		return done == int64(len(hows)+40)
	}, "all events of the hostile function")
	require.GreaterOrEqual(t, n.stat("bad", "on_update_failure"), int64(6))
	for _, id := range []string{"w0", "l0", "g"} {
		require.Empty(t, n.get("dst", id))
	}
	require.Less(t, len(n.log("bad")), 11_000)
}
