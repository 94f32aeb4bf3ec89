package timers

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Name names a timer of an instance: of two with the same name the later one replaces the earlier
// one.
type Name struct{ Callback, Reference string }

// append appends the name to a key.
func (n Name) append(key []byte) []byte {
	return tuple.AppendString(tuple.AppendString(key, n.Callback), n.Reference)
}

// Timer is a timer as it is stored.
type Timer struct {
	Name
	Partition int   // whose owner fires it: that of the event whose handler made it
	Due       int64 // milliseconds since 1970
	// Nonce tells the timer from an earlier one of the same name: it is the versionstamp of the commit
	// that made it.
	Nonce   []byte
	Context []byte // JSON, nil for undefined
}

// List is the timers of an instance. It is a value, and safe for concurrent use.
type List struct{ byTime, byName string }

// Below is the list whose entries in the order of time, and those by name, are below two prefixes.
//
//	byTime (partition, ms, callback, reference) [, n]  nonce, context; further pieces of the context
//	byName (callback, reference)                       nonce, when it is due, and in which partition
func Below(byTime, byName []byte) List { return List{string(byTime), string(byName)} }

// dueIn is the prefix of a partition's timers in the order of time.
func (l List) dueIn(partition int) []byte {
	return tuple.AppendInt([]byte(l.byTime), int64(partition))
}

func (l List) timeKey(t *Timer) []byte {
	return t.append(tuple.AppendInt(l.dueIn(t.Partition), t.Due))
}

func (l List) nameKey(n Name) []byte { return n.append([]byte(l.byName)) }

// below is the range of a key and all that it begins.
func below(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }

// Set stores a timer and removes the one that had its name. The nonce is filled in by the commit.
func (l List) Set(tx kv.Tx, t *Timer) error {
	if _, err := l.Clear(tx, t.Name); err != nil {
		return err
	}
	t.put(tx, l.timeKey(t))
	tx.SetVersionstampedValue(l.nameKey(t.Name), t.named(), 0)
	return nil
}

// Clear removes the timer with a name. found is false if there is none, which is no error.
func (l List) Clear(tx kv.Tx, name Name) (found bool, err error) {
	key := l.nameKey(name)
	value, err := tx.Get(key)
	if err != nil || value == nil {
		return false, err
	}
	t, err := parseNamed(name, value)
	if err != nil {
		return false, err
	}
	tx.Clear(key)
	tx.ClearRange(below(l.timeKey(&t)))
	return true, nil
}

// Fired removes a timer whose callback has run, in the transaction that stores what the callback
// did. It is false if the timer is not there any more, because it was cancelled or replaced
// meanwhile, or has run elsewhere.
func (l List) Fired(tx kv.Tx, t *Timer) (bool, error) {
	key := l.timeKey(t)
	value, err := tx.Get(key)
	if err != nil || !bytes.HasPrefix(value, t.Nonce) {
		return false, err
	}
	if len(value) < nonceSize+1+maxPiece { // a context without further pieces; a range costs later scans more
		tx.Clear(key)
	} else {
		tx.ClearRange(below(key))
	}
	tx.Clear(l.nameKey(t.Name))
	return true, nil
}

// Has reports whether there is a timer of that name.
func (l List) Has(tx kv.ReadTx, name Name) (bool, error) {
	value, err := tx.Get(l.nameKey(name))
	return value != nil, err
}

// Find reads the timer with a name, nil if there is none.
func (l List) Find(tx kv.ReadTx, name Name) (*Timer, error) {
	value, err := tx.Get(l.nameKey(name))
	if err != nil || value == nil {
		return nil, err
	}
	t, err := parseNamed(name, value)
	if err != nil {
		return nil, err
	}
	begin, end := below(l.timeKey(&t))
	it := tx.Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	list, _, err := l.nextIn(it, t.Partition, t.Due, 1, func(*Timer) bool { return false })
	if err == nil && len(list) != 1 {
		err = corrupt("timer")
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// Times reads when the timers with some names are due, in milliseconds since 1970, with one request;
// 0 stands for one that is not there.
func (l List) Times(tx kv.ReadTx, names []Name) ([]int64, error) {
	keys := make([][]byte, len(names))
	for i, name := range names {
		keys[i] = l.nameKey(name)
	}
	values, err := tx.GetMany(keys)
	if err != nil {
		return nil, err
	}
	times := make([]int64, len(names))
	for i, value := range values {
		if value == nil {
			continue
		}
		t, err := parseNamed(names[i], value)
		if err != nil {
			return nil, err
		}
		times[i] = t.Due
	}
	return times, nil
}
