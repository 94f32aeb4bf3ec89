package jobs

import (
	"context"
	"sort"

	"github.com/settee-db/settee/storage/kv"
)

// waiting is a job that waits.
type waiting struct {
	typ, id string
	order   uint64
}

// Moved prepares the jobs below the prefix for a store whose versions may be lower than those in
// it: jobs that wait come before all that begin to wait from now on, in the order that they had. It
// may be called at any time.
func Moved(ctx context.Context, store kv.Store, prefix []byte) error {
	k := keys(prefix)
	begin, end := k.ofType(keyJob, "")
	var list []waiting
	err := kv.Walk(ctx, store, begin, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		some := make([]waiting, 0, len(window))
		for _, row := range window {
			typ, id, err := k.parseName(row.Key)
			if err != nil {
				return err
			}
			r, err := parseJobRecord(row.Value)
			if err != nil {
				return err
			}
			if r.waits() {
				some = append(some, waiting{typ, id, r.order})
			}
		}
		list = append(list, some...)
		return nil
	})
	sort.Slice(list, func(i, j int) bool { return list[i].order < list[j].order })
	for i, w := range list {
		if err == nil {
			_, err = store.Update(ctx, func(tx kv.Tx) error { return k.reorder(tx, w, uint64(i)) })
		}
	}
	return err
}

// reorder gives a job that waits its place among those with its delay.
func (k keys) reorder(tx kv.Tx, w waiting, order uint64) error {
	before, err := k.read(tx, w.typ, w.id)
	if err != nil || before == nil || !before.waits() {
		return err
	}
	after := *before
	after.order = min(order, before.order)
	t := transaction{k, tx}
	t.change(w.typ, w.id, before, &after)
	return nil
}
