package eventing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestOnUndeploy: OnUndeploy is called after the last event of a function that was deployed or paused, with
// all that a handler may do but timers; the timers that there are count as gone.
func TestOnUndeploy(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function Later() {}
function OnUpdate(doc, meta) { createTimer(Later, new Date(Date.now() + 3600000), "t"); dst[meta.id] = {}; }
function OnUndeploy(action) {
	const rows = SELECT META().id AS id FROM dst WHERE META().id != "end";
	dst["end"] = {reason: action.reason, seen: rows.execQuery().length, timer: cancelTimer(Later, "t")};
}`, "", "+dst=dst")
	for round, paused := range []bool{false, true} {
		n.deploy("f")
		id := fmt.Sprint("doc", round)
		n.put("src", id, `{}`)
		n.becomes("dst", id, `{}`)
		if paused {
			require.Equal(t, definition.Paused, n.pause("f"))
		}
		require.Equal(t, definition.Undeployed, n.undeploy("f"))
		require.Equal(t, fmt.Sprintf(`{"reason":"Undeploy","seen":%d,"timer":false}`, round+1), n.get("dst", "end"))
		require.Empty(t, n.reason("f"))
		require.Empty(t, n.checked())
	}
}

// TestOnUndeployFails: a function is undeployed though its last handler fails, takes too long, sets a timer or
// may not run, leaves nothing then, and says why. The next deployment forgets that.
func TestOnUndeployFails(t *testing.T) {
	n := newAlone(t, "src", "dst", "gone")
	for why, code := range map[string]string{
		"OnUndeploy has failed: no end": `dst["end"] = {}; throw new Error("no end");`,
		"OnUndeploy took too long":      `dst["end"] = {}; for (;;) {}`,
		"cannot make timers":            `dst["end"] = {}; createTimer(OnUpdate, new Date(), "t");`,
	} {
		n.define("f", "function OnUpdate() {} function OnUndeploy() { "+code+" }", `{"on_deploy_timeout":1}`, "+dst=dst")
		n.deploy("f")
		require.Empty(t, n.reason("f"))
		require.Equal(t, definition.Undeployed, n.undeploy("f"))
		require.Contains(t, n.reason("f"), why)
		require.Contains(t, n.log("f"), why)
		require.Empty(t, n.get("dst", "end"))
		require.Empty(t, n.checked())
	}
	n.define("g", `function OnUpdate() {} function OnDeploy() { throw new Error("no begin"); }`, "")
	require.Equal(t, definition.Undeployed, n.deploy("g"))
	require.Contains(t, n.reason("g"), "no begin")
}

// reason is what the record of a function tells.
func (n *node) reason(name string) string {
	r, err := n.engine.Registry().Get(context.Background(), refOf(name))
	require.NoError(n.t, err)
	return r.Reason
}

// TestOnUndeployRunsOnce: OnUndeploy has its effects once, though the process that runs it dies at any moment.
func TestOnUndeployRunsOnce(t *testing.T) {
	const lease = 200 * time.Millisecond
	store, random := memkv.New(), rand.New(rand.NewPCG(3, 43))
	keeper := newNode(t, store, lease)
	keeper.create("src", "dst")
	keeper.define("f", `
function OnUndeploy(action) { dst["count"] = {n: (dst["count"] || {n: 0}).n + 1}; }
function OnUpdate(doc, meta) {}`, "", "+dst=dst")
	for round := range shorterCount(5, 2) {
		life := &mortal{Store: store}
		other := newNode(t, life, lease)
		keeper.deploy("f")
		kill := time.AfterFunc(rand.N(20*time.Millisecond), func() { life.dead.Store(random.IntN(4) > 0) })
		require.Equal(t, definition.Undeployed, keeper.undeploy("f"))
		kill.Stop()
		require.Equal(t, fmt.Sprintf(`{"n":%d}`, round+1), keeper.get("dst", "count"))
		other.close()
	}
	require.Empty(t, keeper.checked())
}
