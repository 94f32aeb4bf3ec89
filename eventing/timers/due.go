package timers

import (
	"cmp"
	"slices"

	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// maxContexts bounds the contexts of timers that are read together, in bytes.
const maxContexts = 1 << 20

// MostContexts is how many bytes of contexts Due reads: a partition is read while there are not too
// many, and ends with a long one.
const MostContexts = 2*maxContexts + js.MaxEventBytes

// Due reads the timers of some partitions that are due at now, in milliseconds since 1970: the
// earliest of each first, at most limit of each, without those that known says are being fired; nil
// knows none. nexts is when each partition has its next timer after these, and alarm.Never if it has
// none. The contexts together take little more than maxContexts bytes: a partition that is not read
// for that reason has 0 as its next.
func (l List) Due(
	tx kv.ReadTx, in []int, now int64, limit int, known func(*Timer) bool,
) (list []Timer, nexts []int64, err error) {
	if known == nil {
		known = func(*Timer) bool { return false }
	}
	its := make([]kv.Iterator, len(in))
	for i, p := range in {
		begin, end := below(l.dueIn(p))
		its[i] = tx.Range(begin, end, kv.RangeOptions{})
		defer its[i].Close()
	}
	nexts = make([]int64, len(in))
	for i, it := range its {
		size := 0
		for j := range list {
			size += len(list[j].Context)
		}
		if size > maxContexts {
			break
		}
		var some []Timer
		if some, nexts[i], err = l.nextIn(it, in[i], now, limit, known); err != nil {
			return nil, nil, err
		}
		list = append(list, some...)
	}
	slices.SortStableFunc(list, func(a, b Timer) int { return cmp.Compare(a.Due, b.Due) })
	return list, nexts, nil
}

// nextIn is Due for the timers of one partition, which an iterator gives in the order of time. The
// pieces of a context come directly after the entry that they belong to.
func (l List) nextIn(
	it kv.Iterator, partition int, now int64, limit int, known func(*Timer) bool,
) (list []Timer, next int64, err error) {
	prefix := len(l.dueIn(partition))
	first, left := true, false // left: the timer that was read last is known
	for size := 0; it.Next(); {
		t, piece, err := parseEntry(it.Key()[prefix:], it.Value())
		t.Partition = partition
		switch {
		case err != nil:
			return nil, 0, err
		case piece && first:
			return nil, 0, corrupt("timer")
		case piece && left:
			continue
		case piece:
			last := &list[len(list)-1]
			last.Context = append(last.Context, it.Value()...)
			size += len(it.Value())
			continue
		case t.Due > now || len(list) == limit || size > maxContexts:
			return list, t.Due, nil
		}
		if first, left = false, known(&t); left {
			continue
		}
		list = append(list, t)
		size += len(it.Value())
	}
	return list, alarm.Never, it.Err()
}
