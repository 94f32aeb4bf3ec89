package eventing

import (
	"context"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// A process that ends in order gives up its partitions. Partitions whose owner is gone tell that it
// did not, and which functions it ran then: whoever takes them over notes that process, once, in
// the transaction. A function that ran at mostEnds such ends in a row may be what causes them, and
// is paused instead of being run again. The row is broken where a process has run the function for
// wellAfter, or ends in order.
const (
	mostEnds  = 3
	wellAfter = 5 * time.Minute
)

// errEnds is the error for such a function.
var errEnds = errStopped{"the server ended without a shutdown three times in a row while the function ran"}

// end is the key that notes that a process has ended without a shutdown.
func (s space) end(id nodes.ID) []byte { return tuple.AppendString(s.sub(tagEnds), string(id[:])) }

// noteEnds notes the ends of processes that were running the function, and gives how many there are
// in a row.
func (f *function) noteEnds(tx kv.Tx, gone map[nodes.ID]bool) (ends int, err error) {
	for id := range gone {
		tx.Set(f.space.end(id), []byte{1})
	}
	begin, end := below(f.space.sub(tagEnds))
	it := tx.Range(begin, end, kv.RangeOptions{Limit: mostEnds})
	defer it.Close()
	for it.Next() {
		ends++
	}
	return ends, it.Err()
}

// runsWell breaks the row when the function has run for long enough.
func (f *function) runsWell(ctx context.Context) error {
	err := sleep(ctx, wellAfter)
	if err == nil && f.ends > 0 {
		_, err = f.engine.o.KV.Update(ctx, func(tx kv.Tx) error {
			tx.ClearRange(below(f.space.sub(tagEnds)))
			return nil
		})
	}
	if err == nil {
		<-ctx.Done()
		err = ctx.Err()
	}
	return err
}
