package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// successor is this program with one format more, which has a row behind each row of the store, and
// one place of its own, for what the format before cannot hold.
func successor() format.Program {
	p := format.This
	p.Newest++
	var steps []format.Step
	if p.Steps != nil {
		steps = append(steps, *p.Steps...)
	}
	steps = append(steps, format.Step{From: p.Newest - 1, Run: func(tx kv.Tx, cursor []byte) ([]byte, error) {
		return pieceOfRows(tx, cursor, []byte{0xff, 0xff}, func(key []byte) {
			own := bytes.HasPrefix(key, besidePrefix) || bytes.HasPrefix(key, placeOfNew)
			if !own && !bytes.HasPrefix(key, keyspace.HeadKey()) {
				tx.Set(append(bytes.Clone(besidePrefix), key...), key)
			}
		})
	}, Back: func(tx kv.Tx, cursor []byte) ([]byte, error) {
		if cursor == nil {
			cursor = besidePrefix
		}
		return pieceOfRows(tx, cursor, kv.AppendPrefixEnd(nil, besidePrefix), func(key []byte) { tx.Clear(key) })
	}, InUse: func(tx kv.ReadTx, _ []byte) (what []string, next []byte, err error) {
		value, err := tx.Get(placeOfNew)
		if value != nil {
			what = append(what, "database "+string(value)+" keeps something new")
		}
		return what, nil, err
	}})
	p.Steps = &steps
	return p
}

// placeOfNew is where a store of the format of successor has what is new; besidePrefix begins the
// keys of the rows beside others. No tag of the root has these numbers.
var placeOfNew, besidePrefix = []byte("\x15\xf0new"), []byte("\x15\xf1")

// pieceOfRows calls do for a hundred rows, and gives the cursor of the next piece.
func pieceOfRows(tx kv.Tx, cursor, end []byte, do func(key []byte)) ([]byte, error) {
	it := tx.Range(cursor, end, kv.RangeOptions{Limit: 100})
	defer it.Close()
	n := 0
	for ; it.Next(); n++ {
		key := bytes.Clone(it.Key())
		cursor = kv.AppendKeyAfter(nil, key)
		do(key)
	}
	if n < 100 {
		return nil, it.Err()
	}
	return cursor, it.Err()
}

// rowsBeside counts the rows that only the format of successor has.
func rowsBeside(rows map[string]string) (n int) {
	for key := range rows {
		if strings.HasPrefix(key, string(besidePrefix)) {
			n++
		}
	}
	return n
}

// stopping runs a command again and again, each time until it has said that a piece is rewritten,
// and calls between after each stop.
func stopping(t *testing.T, run func(ctx context.Context, progress io.Writer) error, between func()) (stops int) {
	t.Helper()
	for ; ; stops++ {
		ctx, stop := context.WithCancel(t.Context())
		err := run(ctx, writerFunc(func(line []byte) {
			if bytes.Contains(line, []byte("pieces are rewritten")) {
				stop()
			}
		}))
		stop()
		if err == nil {
			return stops
		}
		require.ErrorIs(t, err, context.Canceled)
		between()
	}
}

// TestEachFormatGoesBack: a store of each format that there is in testdata is raised to each later
// one by this program and by one with a format more, used by a server of that program, and brought
// back, stopped after each piece. Then the program that does not know the later format opens it,
// finds no violation and all that was there, and serves it as it served the original.
func TestEachFormatGoesBack(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	next := successor()
	cases, back := 0, 0
	for _, newer := range []format.Program{format.This, next} {
		for n := newer.Oldest; n < newer.Newest; n++ {
			cases++
			dir := t.TempDir()
			unpackStore(t, packed(n), filepath.Join(dir, storeDir))
			older := appOptions{engine: "pebble", dataDir: dir, program: newer}
			older.program.Newest, older.program.Steps = n, nil
			original := lasting(contents(t, dir))
			up := upgradeOptions{appOptions: appOptions{engine: "pebble", dataDir: dir, program: newer}, finalise: true}
			require.NoError(t, upgrade(t.Context(), up, io.Discard, io.Discard))
			require.ErrorIs(t, check(t.Context(), older, 0, io.Discard, io.Discard), kv.ErrFormat)
			useAs(t, dir, newer)
			down := downgradeOptions{appOptions: up.appOptions, to: int(n)}
			before, _ := allRows(t, dir)
			stops := stopping(t, func(ctx context.Context, progress io.Writer) error {
				return downgrade(ctx, down, io.Discard, progress)
			}, func() {
				if head := headOf(t, dir); head.Reader == head.Format {
					return // it was stopped behind the last piece of a format
				}
				require.ErrorIs(t, check(t.Context(), older, 0, io.Discard, io.Discard), kv.ErrFormat)
				err := check(t.Context(), up.appOptions, 0, io.Discard, io.Discard)
				require.ErrorContains(t, err, "settee downgrade")
				require.ErrorContains(t, upgrade(t.Context(), up, io.Discard, io.Discard), "settee downgrade goes on")
			})
			after, said := allRows(t, dir)
			require.Empty(t, said)
			if newer.Newest == next.Newest {
				back++
				require.Greater(t, stops, 3)
				require.Greater(t, rowsBeside(before), 300)
			}
			require.Zero(t, rowsBeside(after))
			var out bytes.Buffer
			require.NoError(t, check(t.Context(), older, 0, &out, io.Discard), &out)
			require.Equal(t, n, headOf(t, dir).Format)
			left := lasting(contents(t, dir))
			size := len(left)
			maps.DeleteFunc(left, func(key, value string) bool {
				used := strings.HasPrefix(key, "a/used/1-") && strings.Contains(value, `{"n":99,"t":"used"}`)
				return used || strings.HasPrefix(key, "out/copied:used/")
			})
			require.Less(t, len(left), size, "what was written meanwhile is there")
			require.Equal(t, original, left)
			useAs(t, dir, older.program)
		}
	}
	require.Positive(t, back)
	t.Logf("%d pairs of formats, %d through an invented one", cases, back)
}

// TestDowngradeRefused: what the format before has no place for is named, by the question and by
// the refusal, and every row stays as it was, the head too. A store of the oldest format says that
// there is no way back.
func TestDowngradeRefused(t *testing.T) {
	dir := t.TempDir()
	unpackStore(t, packed(format.This.Newest), filepath.Join(dir, storeDir))
	next := successor()
	up := upgradeOptions{appOptions: appOptions{engine: "pebble", dataDir: dir, program: next}, finalise: true}
	require.NoError(t, upgrade(t.Context(), up, io.Discard, io.Discard))
	write := func(value string) {
		engine := openSmall(t, dir)
		_, err := engine.Update(t.Context(), func(tx kv.Tx) error {
			if tx.Clear(placeOfNew); value != "" {
				tx.Set(placeOfNew, []byte(value))
			}
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, engine.Close())
	}
	ask := func(to int) (string, error) {
		var out bytes.Buffer
		err := downgrade(t.Context(), downgradeOptions{appOptions: up.appOptions, to: to}, &out, io.Discard)
		return out.String(), err
	}
	target := int(format.This.Newest)
	write("ledger")
	before, _ := allRows(t, dir)
	said, err := ask(-1)
	require.NoError(t, err)
	require.Contains(t, said, "database ledger keeps something new")
	for range 2 {
		_, err = ask(target)
		require.ErrorIs(t, err, format.ErrInUse)
		require.ErrorContains(t, err, "database ledger keeps something new")
		after, _ := allRows(t, dir)
		require.Equal(t, before, after)
	}
	head := headOf(t, dir)
	require.Equal(t, format.Head{Format: next.Newest, UUID: head.UUID, Reader: next.Newest, Writer: next.Newest}, head)

	write("")
	said, err = ask(-1)
	require.NoError(t, err)
	require.Contains(t, said, fmt.Sprintf("settee downgrade --to %d brings it back", target))
	_, err = ask(target + 2)
	require.ErrorContains(t, err, "settee upgrade raises it")
	said, err = ask(target)
	require.NoError(t, err)
	require.Contains(t, said, fmt.Sprintf("The store is of format %d now.", target))
	now := appOptions{engine: "pebble", dataDir: dir}
	require.NoError(t, check(t.Context(), now, 0, io.Discard, io.Discard))

	oldest := appOptions{engine: "pebble", dataDir: t.TempDir()}
	unpackStore(t, packed(format.This.Oldest), filepath.Join(oldest.dataDir, storeDir))
	rows, _ := allRows(t, oldest.dataDir)
	for _, to := range []int{-1, int(format.This.Oldest) - 1} {
		err = downgrade(t.Context(), downgradeOptions{appOptions: oldest, to: to}, io.Discard, io.Discard)
		require.ErrorIs(t, err, kv.ErrFormat)
		require.ErrorContains(t, err, "there is no way back; settee backup")
	}
	same, _ := allRows(t, oldest.dataDir)
	require.Equal(t, rows, same)
}

// TestDowngradeWithNodes: a store that nodes have open is left alone.
func TestDowngradeWithNodes(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	engine, _ := shareStore(t)
	next := successor()
	o := serveOptions{listen: freeAddress(t)}
	o.engine, o.dataDir, o.node, o.program = engine, t.TempDir(), "couchdb@one", next
	stop, err := tryServe(t, o, io.Discard)
	require.NoError(t, err)
	down := downgradeOptions{appOptions: appOptions{engine: engine, program: next}, to: int(format.This.Newest)}
	require.ErrorContains(t, downgrade(t.Context(), down, io.Discard, io.Discard), "1 nodes have the store open")
	status, _, _ := ask(t, "admin:secret", "PUT", "http://"+o.listen+"/db", "")
	require.Equal(t, 201, status)
	require.NoError(t, stop())
	require.NoError(t, downgrade(t.Context(), down, io.Discard, io.Discard))
	o.program = format.This
	stop, err = tryServe(t, o, io.Discard)
	require.NoError(t, err)
	status, _, _ = ask(t, "admin:secret", "GET", "http://"+o.listen+"/db", "")
	require.Equal(t, 200, status)
	require.NoError(t, stop())
}

// useAs starts a server of a program on a small store, and writes and reads there.
func useAs(t *testing.T, dir string, p format.Program) {
	t.Helper()
	o := serveOptions{listen: freeAddress(t)}
	o.engine, o.dataDir, o.program = "pebble", dir, p
	stop, err := tryServe(t, o, io.Discard)
	require.NoError(t, err)
	base := "http://" + o.listen
	status, _, _ := ask(t, "admin:password", "PUT", base+"/a/used", `{"n":99,"t":"used"}`)
	require.Contains(t, []int{201, 409}, status)
	require.Contains(t, mustAsk(t, base, "GET /a/_design/d/_view/n?reduce=false", ""), `"id":"used"`)
	require.Contains(t, mustAsk(t, base, "POST /a/_find", `{"selector":{"n":{"$gt":2}}}`), `"d04"`)
	require.NoError(t, stop())
}
