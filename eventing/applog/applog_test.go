package applog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

var ref = definition.Ref{Scope: definition.Global, Name: "f"}

func clock() time.Time { return time.UnixMilli(1_700_000_000_123) }

func newStore(t *testing.T) kv.Store {
	store := memkv.New()
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// lines are the last lines of f's log, as JSON, the newest first.
func lines(t *testing.T, a *Logs, size int64) (list []map[string]any) {
	t.Helper()
	text, err := a.Last(t.Context(), ref, size)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		list = append(list, m)
	}
	return list
}

// pieces are the numbers of the pieces of f's log, and the number that the next one gets.
func pieces(t *testing.T, store kv.Store) (numbers []int64, next int64) {
	t.Helper()
	require.NoError(t, kv.ViewAgain(t.Context(), store, func(tx kv.ReadTx) (err error) {
		numbers = nil
		if next, err = readNext(tx, Key(ref)); err != nil {
			return err
		}
		begin := tuple.AppendInt(Key(ref), 0)
		it := tx.Range(begin, kv.AppendPrefixEnd(nil, Key(ref)), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n, rest, err := tuple.ReadInt(it.Key()[len(Key(ref)):])
			require.NoError(t, err)
			require.Empty(t, rest)
			require.LessOrEqual(t, len(it.Value()), logPiece)
			numbers = append(numbers, n)
		}
		return it.Err()
	}))
	return numbers, next
}

// TestLines: a line is JSON with what it is of, whatever its text is, and the newest one comes first.
func TestLines(t *testing.T) {
	a := New(newStore(t), clock)
	l := a.Of(ref)
	l.Say("one\n\"two\" \x00")
	l.Line("ERROR", &About{ID: "d\n", Rev: compat.Rev{}, Where: "3:7"}, "")
	l.Line("INFO", &About{ID: "d", Callback: "C", Reference: "r"}, "fired")
	a.Apart(ref).Say("of a trial")
	stamp := "2023-11-14T22:13:20.123Z"
	require.Equal(t, []map[string]any{
		{"time": stamp, "level": "INFO", "function": "f", "callback": "C", "reference": "r", "text": "fired"},
		{"time": stamp, "level": "ERROR", "function": "f", "id": "d\n", "rev": compat.Rev{}.String(), "at": "3:7", "text": ""},
		{"time": stamp, "level": "INFO", "function": "f", "text": "one\n\"two\" \x00"},
	}, lines(t, a, MaxSize))
	require.Len(t, lines(t, a, 1), 1, "the newest one, however long it is")
	other, err := a.Last(t.Context(), definition.Ref{Scope: definition.Global, Name: "f0"}, MaxSize)
	require.NoError(t, err)
	require.Empty(t, other)
}

// TestWritersShareALog: of lines that processes write at a time none is lost, those of a process are in their
// order, and pieces are numbered without a gap.
func TestWritersShareALog(t *testing.T) {
	store := newStore(t)
	const writers, each = 4, 50
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			a := New(store, clock)
			for i := range each {
				a.Of(ref).Say(fmt.Sprintf("%d %d", w, i))
				if err := a.Of(ref).write(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list := lines(t, New(store, clock), MaxSize)
	require.Len(t, list, writers*each)
	slices.Reverse(list)
	var next [writers]int
	for _, line := range list {
		var w, i int
		_, err := fmt.Sscan(line["text"].(string), &w, &i)
		require.NoError(t, err)
		require.Equal(t, next[w], i)
		next[w]++
	}
	numbers, end := pieces(t, store)
	require.EqualValues(t, writers*each, end)
	for i, n := range numbers {
		require.EqualValues(t, i, n)
	}
}

// TestLogsAreBounded: lines that nobody writes are counted from a megabyte on, pieces end with a line, and the
// oldest piece goes when there is one too many.
func TestLogsAreBounded(t *testing.T) {
	store := newStore(t)
	a := New(store, clock)
	l := a.Of(ref)
	const size, said = 1000, 2 * logWaiting / 1000
	for range said {
		l.Say(strings.Repeat("x", size))
	}
	require.LessOrEqual(t, len(l.waiting), logWaiting)
	list := lines(t, a, 2*logWaiting)
	require.EqualValues(t, said-(len(list)-1), list[0]["dropped"])
	numbers, _ := pieces(t, store)
	require.Len(t, numbers, logWaiting/logPiece+1)

	for i := range Pieces + 3 {
		require.NoError(t, l.writePiece(t.Context(), fmt.Appendf(nil, "{\"n\":%d}\n", i)))
	}
	numbers, next := pieces(t, store)
	require.Len(t, numbers, Pieces)
	require.Equal(t, []int64{next - Pieces, next - 1}, []int64{numbers[0], numbers[Pieces-1]})
	require.EqualValues(t, Pieces+2, lines(t, a, 1)[0]["n"])
}

// TestKeepWriting: what waits is written at the end, and a store that takes nothing loses lines, but ends.
func TestKeepWriting(t *testing.T) {
	store := newStore(t)
	a := New(store, clock)
	a.Of(ref).Say("last")
	ended, end := context.WithCancel(t.Context())
	end()
	var warned bytes.Buffer
	a.KeepWriting(ended, slog.New(slog.NewTextHandler(&warned, nil)))
	require.Empty(t, warned.String())
	require.Equal(t, "last", lines(t, New(store, clock), MaxSize)[0]["text"])

	full := New(fullStore{store}, clock)
	full.Of(ref).Say("lost")
	full.KeepWriting(ended, slog.New(slog.NewTextHandler(&warned, nil)))
	require.Contains(t, warned.String(), "lines of a function's log are lost")
	require.Len(t, lines(t, full, MaxSize), 1, "a full store can be read")
}

// fullStore has no room.
type fullStore struct{ kv.Store }

// Update implements kv.Store.
func (fullStore) Update(context.Context, func(kv.Tx) error) (kv.Versionstamp, error) {
	return kv.Versionstamp{}, kv.ErrFull
}
