package kvtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// action is one step of a random history: a read or a write in a transaction, which returns what it
// saw as text.
type action struct {
	// The action as a failure prints it, so that a history can be read and played again.
	text string
	run  func(p *player, tx kv.Tx)
	read func(p *player, tx kv.ReadTx) // instead of run: a read, possible in a View too
}

// transaction is a part of a history: an Update with actions, in which others may be nested.
type transaction struct {
	view    bool
	reopen  bool  // before it
	fails   bool  // its function returns an error in the end
	actions []any // action or *transaction
}

// randomKey returns one of few keys, so that actions meet: most below k/, some below v/, where
// versionstamped values are, and some that belong to documents. Keys below s/ are versionstamped.
// No atomic operation is done below v/: what it makes of a versionstamp depends on the engine's
// numbers.
func randomKey(rng *rand.Rand) string {
	const letters = "ab\x00\xfe\xff"
	var key strings.Builder
	if rng.IntN(3) == 0 {
		key.WriteString(randomDocument(rng))
		for range rng.IntN(3) {
			key.WriteByte(letters[rng.IntN(len(letters))])
		}
		return key.String()
	}
	key.WriteString([]string{"k/", "k/", "k/", "v/"}[rng.IntN(4)])
	for range rng.IntN(4) {
		key.WriteByte(letters[rng.IntN(len(letters))])
	}
	return key.String()
}

// randomDocument returns what the keys of one of few documents begin with.
func randomDocument(rng *rand.Rand) string {
	key := tuple.AppendInt(tuple.AppendInt(nil, 40), 5)
	return string(tuple.AppendString(key, []string{"", "a", "a\x00", "b"}[rng.IntN(4)]))
}

// randomRange prefers the bounds where engines go wrong: the first key, the end, all stamped keys,
// and the keys of one document.
func randomRange(rng *rand.Rand) (begin, end string) {
	begin, end = randomKey(rng), randomKey(rng)
	if begin > end {
		begin, end = end, begin
	}
	switch rng.IntN(8) {
	case 0:
		begin = ""
	case 1:
		end = "w"
	case 2:
		return "s/", "s0"
	case 3, 4:
		begin = randomDocument(rng)
		return begin, begin + "\xff"
	}
	return begin, end
}

// randomValue is short more often than not; 5,000 bytes are beyond what engines keep inline.
func randomValue(rng *rand.Rand) string {
	sizes := []int{0, 1, 2, 8, 8, 8, 100, 5000}
	return strings.Repeat(string(rune('a'+rng.IntN(26))), sizes[rng.IntN(len(sizes))])
}

// randomTransaction makes up a transaction; depth bounds the nesting.
func randomTransaction(rng *rand.Rand, depth int) *transaction {
	tr := &transaction{view: rng.IntN(5) == 0, fails: rng.IntN(10) == 0}
	for range rng.IntN(12) {
		switch n := rng.IntN(20); {
		case n < 2 && depth > 0:
			tr.actions = append(tr.actions, randomTransaction(rng, depth-1))
		case n < 10 || tr.view:
			tr.actions = append(tr.actions, randomRead(rng))
		default:
			tr.actions = append(tr.actions, randomWrite(rng))
		}
	}
	return tr
}

// randomRead makes a Get or a Range with any options. Some ranges are abandoned after a few rows: a
// transaction conflicts only with what was read of a range.
func randomRead(rng *rand.Rand) action {
	snapshot := rng.IntN(4) == 0
	reader := func(tx kv.ReadTx) kv.ReadTx {
		if snapshot {
			return tx.Snapshot()
		}
		return tx
	}
	if rng.IntN(2) == 0 {
		key := randomKey(rng)
		return action{text: fmt.Sprintf("get %q snapshot=%v", key, snapshot), read: func(p *player, tx kv.ReadTx) {
			value, err := reader(tx).Get([]byte(key))
			p.saw("%q %v", p.known(value), p.errorName(err))
		}}
	}
	begin, end := randomRange(rng)
	opts := kv.RangeOptions{Reverse: rng.IntN(2) == 0, WantAll: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		opts.Limit = 1 + rng.IntN(4)
	}
	stop := 1 << 30
	if rng.IntN(3) == 0 {
		stop = rng.IntN(4)
	}
	return action{
		text: fmt.Sprintf("range %q %q %+v stop=%d snapshot=%v", begin, end, opts, stop, snapshot),
		read: func(p *player, tx kv.ReadTx) {
			it := reader(tx).Range([]byte(begin), []byte(end), opts)
			for n := 0; n < stop && it.Next(); n++ {
				p.saw("%q=%q", p.known(it.Key()), p.known(it.Value()))
			}
			p.saw("%v", p.errorName(it.Close()))
		},
	}
}

// randomWrite makes one write of any kind. Atomic operations and stamped values go to keys with
// prefixes of their own (`k`, `v`).
func randomWrite(rng *rand.Rand) action {
	key, value := randomKey(rng), randomValue(rng)
	write := func(what string, run func(tx kv.Tx)) action {
		return action{text: what, run: func(_ *player, tx kv.Tx) { run(tx) }}
	}
	switch rng.IntN(10) {
	case 0, 1, 2:
		return write(fmt.Sprintf("set %q %.10q", key, value), func(tx kv.Tx) { tx.Set([]byte(key), []byte(value)) })
	case 3:
		return write(fmt.Sprintf("clear %q", key), func(tx kv.Tx) { tx.Clear([]byte(key)) })
	case 4:
		begin, end := randomRange(rng)
		return write(fmt.Sprintf("clear range %q %q", begin, end),
			func(tx kv.Tx) { tx.ClearRange([]byte(begin), []byte(end)) })
	case 5, 6:
		op, key := kv.Add+kv.AtomicOp(rng.IntN(int(kv.CompareAndClear))), "k"+key[1:]
		return write(fmt.Sprintf("atomic %d %q %.10q", op, key, value),
			func(tx kv.Tx) { tx.Atomic(op, []byte(key), []byte(value)) })
	case 7:
		user := uint16(rng.IntN(3))
		return write(fmt.Sprintf("stamped key %d %.10q", user, value), func(tx kv.Tx) {
			key, offset := tuple.AppendVersionstampHole([]byte("s/"), user)
			tx.SetVersionstampedKey(key, offset, []byte(value))
		})
	case 8:
		key = "v" + key[1:]
		return write(fmt.Sprintf("stamped value %q", key), func(tx kv.Tx) {
			tx.SetVersionstampedValue([]byte(key), []byte("<##########>"), 1)
		})
	}
	begin, end := randomRange(rng)
	if rng.IntN(2) == 0 {
		return write(fmt.Sprintf("read conflict %q %q", begin, end),
			func(tx kv.Tx) { tx.AddReadConflictRange([]byte(begin), []byte(end)) })
	}
	return write(fmt.Sprintf("write conflict %q %q", begin, end),
		func(tx kv.Tx) { tx.AddWriteConflictRange([]byte(begin), []byte(end)) })
}
