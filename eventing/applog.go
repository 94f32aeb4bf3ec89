package eventing

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// The log of a function: what its handlers give to log(), their exceptions, and what the engine has
// to tell of it. It is in the store, so that it is one for all processes and survives them; lines
// of JSON, in pieces:
//
//	(rootLogs, bucket, scope, name)      number of the next piece, 8 bytes little-endian
//	(rootLogs, bucket, scope, name, n)   lines
//
// Handlers never wait for it: what comes faster than it is written is dropped and counted.

const (
	rootLogs = 5 // below keyspace.EventingPrefix

	// logPiece and logPieces bound what is kept: the oldest piece goes when there is one too many.
	logPiece  = 64 << 10
	logPieces = 640
	// logWaiting is how many bytes wait to be written.
	logWaiting = 1 << 20
	logEvery   = 500 * time.Millisecond
)

// appLog is the log of a function in this process: what waits to be written.
type appLog struct {
	in  *appLogs
	ref definition.Ref

	mu      sync.Mutex
	waiting []byte
	dropped int64
}

func logKey(ref definition.Ref) []byte {
	k := tuple.AppendString(tuple.AppendInt(keyspace.EventingPrefix(), rootLogs), ref.Scope.Bucket)
	return tuple.AppendString(tuple.AppendString(k, ref.Scope.Scope), ref.Name)
}

// say adds a line of the engine.
func (l *appLog) say(text string) { l.line("INFO", nil, "", text) }

// take adds what the handler of an item has logged, and its exception.
func (l *appLog) take(it *item) {
	for _, text := range it.result.Logs {
		l.line("INFO", it, "", text)
	}
	if f := it.result.Failure; f != nil && it.result.Outcome != js.EventDone {
		where := ""
		if f.Line > 0 {
			where = strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
		}
		text := f.Name + ": " + f.Message
		if f.Stack != "" {
			text = f.Stack
		}
		l.line("ERROR", it, where, text)
	}
}

// line adds a line of JSON to what waits to be written; it is nil for lines of the engine itself.
// It never blocks: a line that would make the waiting ones longer than logWaiting is only counted,
// and the number is written in place of the lines.
func (l *appLog) line(level string, it *item, where, text string) {
	b := ejson.AppendString([]byte(`{"time":`), l.in.now().UTC().Format("2006-01-02T15:04:05.000Z"))
	b = ejson.AppendString(append(b, `,"level":`...), level)
	b = ejson.AppendString(append(b, `,"function":`...), l.ref.String())
	switch {
	case it == nil:
	case it.timer != nil:
		b = ejson.AppendString(append(b, `,"callback":`...), it.timer.callback)
		b = ejson.AppendString(append(b, `,"reference":`...), it.timer.reference)
	case it.id != "":
		b = ejson.AppendString(append(b, `,"id":`...), it.id)
		b = ejson.AppendString(append(b, `,"rev":`...), it.rev.String())
	}
	if where != "" {
		b = ejson.AppendString(append(b, `,"at":`...), where)
	}
	b = append(ejson.AppendString(append(b, `,"text":`...), text), '}', '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting)+len(b) > logWaiting {
		l.dropped++
		return
	}
	l.waiting = append(l.waiting, b...)
}

// write writes what waits.
func (l *appLog) write(ctx context.Context) error {
	l.mu.Lock()
	lines, dropped := l.waiting, l.dropped
	l.waiting, l.dropped = nil, 0
	l.mu.Unlock()
	if dropped > 0 {
		lines = append(lines, `{"dropped":`+strconv.FormatInt(dropped, 10)+"}\n"...)
	}
	for len(lines) > 0 {
		n := min(len(lines), logPiece)
		if n < len(lines) {
			if cut := bytes.LastIndexByte(lines[:n], '\n'); cut >= 0 {
				n = cut + 1
			}
		}
		if err := l.writePiece(ctx, lines[:n]); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// writePiece stores one piece under the next number and removes those that are too old, in one
// transaction: processes that write the same log at a time conflict on the number and run again, so
// that numbers have no gap (invariant 11).
func (l *appLog) writePiece(ctx context.Context, piece []byte) error {
	key := logKey(l.ref)
	_, err := l.in.kv.Update(ctx, func(tx kv.Tx) error {
		next, err := readNext(tx, key)
		if err != nil {
			return err
		}
		tx.Set(tuple.AppendInt(bytes.Clone(key), next), piece)
		tx.Set(key, binary.LittleEndian.AppendUint64(nil, uint64(next+1)))
		if oldest := next - logPieces; oldest >= 0 {
			tx.ClearRange(tuple.AppendInt(bytes.Clone(key), 0), tuple.AppendInt(bytes.Clone(key), oldest+1))
		}
		return nil
	})
	return err
}

// readNext reads the number that the next piece of a log gets; a log that is not there begins with
// 0.
func readNext(tx kv.ReadTx, key []byte) (int64, error) {
	value, err := tx.Get(key)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, corrupt("log")
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

// AppLog gives the last lines of a function's log, of all processes, the newest first; about size
// bytes.
func (e *Engine) AppLog(ctx context.Context, r *registry.Record, _ bool, size int64) ([]byte, error) {
	ref := r.Ref()
	if err := e.logs.of(ref).write(ctx); err != nil && !errors.Is(err, kv.ErrFull) {
		return nil, err
	}
	var lines []byte
	err := kv.ViewAgain(ctx, e.o.KV, func(tx kv.ReadTx) error {
		lines = lines[:0]
		begin, end := below(logKey(ref))
		it := tx.Range(tuple.AppendInt(bytes.Clone(begin), 0), end, kv.RangeOptions{Reverse: true})
		defer it.Close()
		for int64(len(lines)) < size && it.Next() {
			piece := bytes.Split(bytes.TrimSuffix(it.Value(), []byte("\n")), []byte("\n"))
			slices.Reverse(piece)
			for _, line := range piece {
				if int64(len(lines)+len(line)) >= size && len(lines) > 0 {
					return nil
				}
				lines = append(append(lines, line...), '\n')
			}
		}
		return it.Err()
	})
	return lines, err
}

// appLogs are the logs of the functions that have run in this process.
type appLogs struct {
	kv  kv.Store
	now func() time.Time

	mu  sync.Mutex
	all map[definition.Ref]*appLog
}

// of is the log of a function in this process.
func (a *appLogs) of(ref definition.Ref) *appLog {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.all[ref]
	if l == nil {
		l = &appLog{in: a, ref: ref}
		a.all[ref] = l
	}
	return l
}

// keepWriting writes what functions have logged every so often, and once more when running ends.
func (a *appLogs) keepWriting(running context.Context, warn *slog.Logger) {
	for {
		ended := sleep(running, logEvery) != nil
		ctx, cancel := context.WithTimeout(context.WithoutCancel(running), 5*time.Second)
		a.mu.Lock()
		logs := slices.Collect(maps.Values(a.all))
		a.mu.Unlock()
		for _, l := range logs {
			if err := l.write(ctx); err != nil {
				warn.Warn("eventing: lines of a function's log are lost", "function", l.ref.String(), "error", err)
			}
		}
		cancel()
		if ended {
			return
		}
	}
}
