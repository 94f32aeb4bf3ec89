package eventing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
)

// TestFiredTimersLeaveNothing: nothing is left of timers that have fired, whatever the length of
// their contexts: none, one that just fills a value, one with a byte more, one of several values.
func TestFiredTimersLeaveNothing(t *testing.T) {
	n := newAlone(t, "src")
	n.define("f", `
function Later(context) {}
function OnUpdate(doc, meta) {
  [undefined, 89998, 89999, 200000].forEach((size, i) =>
    createTimer(Later, new Date(Date.now() + 20), meta.id + i, size && 'x'.repeat(size)));
}`, `{"timer_context_size":300000}`)
	n.deploy("f")
	n.put("src", "a", `{}`)
	n.eventually(func() bool { return n.stat("f", "timer_callback_success") == 4 }, "not all have fired")
	require.Empty(t, n.checked())
	begin, end := below(spaceOf(1).sub(tagDue))
	require.NoError(t, kv.ViewAgain(t.Context(), n.kv, func(tx kv.ReadTx) error {
		it := tx.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		require.False(t, it.Next(), "a timer is left")
		return it.Err()
	}))
}
