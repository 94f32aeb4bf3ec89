package eventing

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/eventing/definition"
)

// rehearse rehearses a function in a store of its own, at the first millisecond of all.
func rehearse(t *testing.T, f *definition.Function) (*node, *Rehearsal) {
	n := newAlone(t, f.Databases()...)
	require.NoError(t, n.jobs.Close())
	n.engine.Close()
	h, err := Rehearse(t.Context(), n.engine.o, n.docs, f, time.UnixMilli(1))
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return n, h
}

// TestRehearsalIsTheEngine: whatever is written, a function leaves the same documents where it is
// rehearsed, change by change, as where it is deployed.
func TestRehearsalIsTheEngine(t *testing.T) {
	live := newAlone(t)
	live.example("totals")
	f, err := live.engine.Registry().Get(t.Context(), refOf("totals"))
	require.NoError(t, err)
	alone, h := rehearse(t, f.Draft)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		customers := map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "edits") {
			id := fmt.Sprintf("%d-%d", round, rapid.IntRange(1, 3).Draw(rt, "order"))
			body := ""
			if rapid.IntRange(0, 3).Draw(rt, "deleted") > 0 {
				customer := fmt.Sprintf("%d-%d", round, rapid.IntRange(1, 2).Draw(rt, "customer"))
				body = fmt.Sprintf(`{"customer":%q,"total":%d}`, customer, rapid.IntRange(1, 9).Draw(rt, "total"))
				customers[customer] = true
			}
			live.put("orders", id, body)
			alone.put("orders", id, body)
			require.NoError(t, h.Settle(t.Context()))
		}
		live.eventually(func() bool { return live.backlog("totals") == 0 }, "the function has work")
		for customer := range customers {
			key := "customer:" + customer
			sum := alone.get("totals", key)
			if sum == `{"orders":0,"total":0}` { // the live function need not have seen it
				sum = live.get("totals", key)
				require.Contains(t, []string{"", `{"orders":0,"total":0}`}, sum)
			}
			require.Equal(t, sum, live.get("totals", key))
		}
	})
}

// TestRehearsalEnds: a function that goes on without end is told, not waited for.
func TestRehearsalEnds(t *testing.T) {
	n, h := rehearse(t, &definition.Function{
		Name: "f", Scope: definition.Global, Settings: definition.DefaultSettings(), Code: `
function Tick(after) { createTimer(Tick, new Date(Date.now() + after), 't', after); }
function OnUpdate(doc) { Tick(doc.after); }`,
		Bindings: definition.Bindings{SourceBucket: "src", SourceScope: "_default", SourceCollection: "_default"},
	})
	n.put("src", "1", `{"after":1}`)
	require.NoError(t, h.Settle(t.Context()))
	require.NoError(t, h.Advance(t.Context(), 100*time.Millisecond))
	timers, err := h.Timers(t.Context())
	require.NoError(t, err)
	require.Len(t, timers, 1)
	require.Equal(t, time.UnixMilli(102).UTC(), timers[0].Due)
	n.put("src", "2", `{"after":0}`)
	h.left = 5
	require.ErrorContains(t, h.settle(t.Context()), "does not come to rest")
}
