package levels_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// layout is a simple one: the collation key, the id as a tuple string, the number of the row among
// its equals; values hold the length of the first, that of the key's JSON, and both JSON texts.
type layout struct{}

var errRow = errors.New("malformed row")

func (layout) Row(key, value []byte) (r reduce.Row, keyed int, err error) {
	k, n := binary.Uvarint(value)
	if n <= 0 || k > uint64(len(key)) {
		return r, 0, errRow
	}
	value = value[n:]
	size, n := binary.Uvarint(value)
	if n <= 0 || size > uint64(len(value)-n) {
		return r, 0, errRow
	}
	value = value[n:]
	r.Key, r.Value = value[:size], value[size:]
	r.ID, _, err = tuple.ReadText(key[k:])
	return r, int(k), err
}

func (layout) Group(keyed []byte, level int) int { return collate.GroupLength(keyed, false, level) }

// testRow is a row as JSON.
type testRow struct {
	key, id, value string
	dup            uint64
}

func (r testRow) encode() (key, value []byte) {
	v, err := ejson.Parse([]byte(r.key))
	if err != nil {
		panic(err)
	}
	key = collate.AppendKey(nil, v)
	keyed := len(key)
	key = tuple.AppendUint(tuple.AppendString(key, r.id), r.dup)
	value = binary.AppendUvarint(nil, uint64(keyed))
	value = binary.AppendUvarint(value, uint64(len(r.key)))
	return key, append(append(value, r.key...), r.value...)
}

const rowsPrefix = "\x15\x01"

// change writes and removes rows together with their levels; a nil value removes.
func change(ctx context.Context, store kv.Store, x *levels.Index, refresh bool, rows map[string][]byte) error {
	_, err := store.Update(ctx, func(tx kv.Tx) error {
		var changes []levels.Change
		for key, value := range rows {
			old, err := tx.Get([]byte(rowsPrefix + key))
			if err != nil {
				return err
			}
			if old != nil || value != nil {
				changes = append(changes, levels.Change{Key: []byte(key), Old: old, New: value})
			}
		}
		for _, c := range changes {
			if c.New == nil {
				tx.Clear([]byte(rowsPrefix + string(c.Key)))
			} else {
				tx.Set([]byte(rowsPrefix+string(c.Key)), c.New)
			}
		}
		if x.Logged {
			entry := uint16(0)
			return x.Log(tx, changes, func() uint16 { entry++; return entry })
		}
		stale, err := x.Apply(tx, changes)
		if err != nil || !refresh {
			return err
		}
		return x.Refresh(ctx, tx, stale)
	})
	return err
}

// fold takes some of the log of a logged index into its levels, or all of it.
func fold(ctx context.Context, store kv.Store, x *levels.Index, all bool) error {
	for more := true; more; more = more && all {
		if _, err := store.Update(ctx, func(tx kv.Tx) (err error) {
			more, err = x.Fold(tx)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// slotsOf makes a slot of each source.
func slotsOf(t fataler, js reduce.JavaScript, sources ...string) []levels.Slot {
	var slots []levels.Slot
	for i, source := range sources {
		f, err := reduce.New(source, reduce.Options{JavaScript: js})
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		slots = append(slots, levels.Slot{Number: uint32(i + 1), Func: f})
	}
	return slots
}

type fataler interface{ Fatalf(string, ...any) }

func newIndex(config levels.Config, slots []levels.Slot) *levels.Index {
	return newIndexOf(config, slots, false)
}

// newIndexOf is newIndex for an index that many write, if it is shared.
func newIndexOf(config levels.Config, slots []levels.Slot, shared bool) *levels.Index {
	return levels.New(levels.Options{
		Config: config, Rows: []byte(rowsPrefix), Levels: []byte("\x15\x02"), Layout: layout{}, Slots: slots,
		Shared: shared,
	})
}

// answer runs a query and gives its rows as text.
func answer(
	ctx context.Context,
	store kv.Store,
	x *levels.Index,
	slot levels.Slot,
	q levels.Query,
) (rows []string, err error) {
	err = store.View(ctx, func(r kv.ReadTx) error {
		return x.Reduce(ctx, r, slot, &q, func(g *levels.Group) error {
			if g.Value.Overflow != "" {
				rows = append(
					rows,
					fmt.Sprintf(`{"key":null,"error":"reduce_overflow_error","reason":"%s"}`, g.Value.Overflow),
				)
			} else {
				rows = append(rows, fmt.Sprintf(`{"key":%s,"value":%s}`, g.Key, g.Value.JSON))
			}
			return nil
		})
	})
	return rows, err
}
