package eventing

import (
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// die has a node end as a process ends that is killed: what it had of f is not given up.
func (n *node) die() {
	n.t.Helper()
	r, err := n.engine.Registry().Get(n.t.Context(), refOf("f"))
	require.NoError(n.t, err)
	s, self := spaceOf(r.Instance), n.engine.members.Self()
	var ends []kv.Row
	_, err = n.kv.Update(n.t.Context(), func(tx kv.Tx) error {
		ends = nil
		begin, end := below(s.sub(tagEnds))
		it := tx.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			ends = append(ends, kv.Row{Key: append([]byte(nil), it.Key()...), Value: []byte{1}})
		}
		return it.Err()
	})
	require.NoError(n.t, err)
	n.close()
	_, err = n.kv.Update(n.t.Context(), func(tx kv.Tx) error {
		for _, row := range ends {
			tx.Set(row.Key, row.Value)
		}
		for p := range partitions {
			tx.Set(s.owner(p), self[:])
		}
		return nil
	})
	require.NoError(n.t, err)
}

// TestEndsWithoutShutdown: what ran at three ends in a row that were no shutdown is paused at the
// next start, with the reason; a shutdown breaks the row; it goes on where it was when it is
// resumed, and a row begins anew.
func TestEndsWithoutShutdown(t *testing.T) {
	store := memkv.New()
	n := newNode(t, store, 0)
	n.create("src", "dst")
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = {}; }`, "", "+dst=dst")
	n.deploy("f")
	runs := func(id string) {
		n.put("src", id, `{}`)
		n.becomes("dst", id, `{}`)
	}
	runs("first")
	again := func(end func(*node)) {
		end(n)
		n = newNode(t, store, 0)
	}
	for _, end := range []func(*node){(*node).die, (*node).die, (*node).close, (*node).die, (*node).die} {
		again(end)
		runs(rand.Text())
		require.Empty(t, n.checked())
	}
	again((*node).die)
	require.Equal(t, errEnds.why, n.stopped())
	n.put("src", "waits", `{}`)
	require.Empty(t, n.get("dst", "waits"))
	again((*node).close)
	require.Equal(t, errEnds.why, n.stopped())
	require.Equal(t, definition.Deployed, n.deploy("f"))
	n.becomes("dst", "waits", `{}`)
	again((*node).die)
	runs("last")
}

// TestEndIsCountedOnce: several processes that take over what one has left count its end once.
func TestEndIsCountedOnce(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `function OnUpdate(doc, meta) {}`, "")
	n.deploy("f")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	f := &function{engine: n.engine, space: spaceOf(r.Instance)}
	gone := nodes.ID{1}
	for _, c := range []struct {
		id   nodes.ID
		ends int
	}{{gone, 1}, {gone, 1}, {nodes.ID{2}, 2}} {
		_, err = n.kv.Update(t.Context(), func(tx kv.Tx) error {
			f.ends, err = f.noteEnds(tx, map[nodes.ID]bool{c.id: true})
			return err
		})
		require.NoError(t, err)
		require.Equal(t, c.ends, f.ends)
	}
}
