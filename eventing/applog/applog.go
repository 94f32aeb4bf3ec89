package applog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// Root is where the logs are, below keyspace.EventingPrefix.
	Root = 5

	logPiece = 64 << 10
	// Pieces is how many pieces a log has at most: the oldest one goes when there is one too many.
	Pieces = 640
	// MaxSize is how many bytes a log has at most.
	MaxSize = logPiece * Pieces
	// logWaiting is how many bytes wait to be written.
	logWaiting = 1 << 20
	logEvery   = 500 * time.Millisecond
)

// Log is the log of a function in this process: what waits to be written. It is safe for concurrent
// use.
type Log struct {
	in  *Logs
	ref definition.Ref

	mu      sync.Mutex
	waiting []byte
	dropped int64
}

// Key is the key of a log; its pieces are below it.
func Key(ref definition.Ref) []byte {
	k := tuple.AppendString(tuple.AppendInt(keyspace.EventingPrefix(), Root), ref.Scope.Bucket)
	return tuple.AppendString(tuple.AppendString(k, ref.Scope.Scope), ref.Name)
}

// Say adds a line of the engine.
func (l *Log) Say(text string) { l.Line("INFO", nil, text) }

// About is what a line is of, beside the function: a document, or a timer.
type About struct {
	ID                  string
	Rev                 compat.Rev
	Callback, Reference string // of a timer
	Where               string // LINE:COLUMN of the code, "" if it is not known
}

// Line adds a line of JSON to what waits to be written; about is nil for lines of the engine itself.
// It never blocks: a line that would make the waiting ones longer than logWaiting is only counted,
// and the number is written in place of the lines.
func (l *Log) Line(level string, about *About, text string) {
	b := ejson.AppendString([]byte(`{"time":`), l.in.now().UTC().Format("2006-01-02T15:04:05.000Z"))
	b = ejson.AppendString(append(b, `,"level":`...), level)
	b = ejson.AppendString(append(b, `,"function":`...), l.ref.String())
	switch {
	case about == nil:
	case about.Callback != "":
		b = ejson.AppendString(append(b, `,"callback":`...), about.Callback)
		b = ejson.AppendString(append(b, `,"reference":`...), about.Reference)
	case about.ID != "":
		b = ejson.AppendString(append(b, `,"id":`...), about.ID)
		b = ejson.AppendString(append(b, `,"rev":`...), about.Rev.String())
	}
	if about != nil && about.Where != "" {
		b = ejson.AppendString(append(b, `,"at":`...), about.Where)
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
func (l *Log) write(ctx context.Context) error {
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
func (l *Log) writePiece(ctx context.Context, piece []byte) error {
	key := Key(l.ref)
	_, err := l.in.kv.Update(ctx, func(tx kv.Tx) error {
		next, err := readNext(tx, key)
		if err != nil {
			return err
		}
		tx.Set(tuple.AppendInt(bytes.Clone(key), next), piece)
		tx.Set(key, binary.LittleEndian.AppendUint64(nil, uint64(next+1)))
		if oldest := next - Pieces; oldest >= 0 {
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
		return 0, fmt.Errorf("%w: the log of an event function", kv.ErrCorrupt)
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

// Last gives the last lines of a function's log, of all processes, the newest first; about size
// bytes.
func (a *Logs) Last(ctx context.Context, ref definition.Ref, size int64) ([]byte, error) {
	if err := a.Of(ref).write(ctx); err != nil && !errors.Is(err, kv.ErrFull) {
		return nil, err
	}
	var lines []byte
	err := kv.ViewAgain(ctx, a.kv, func(tx kv.ReadTx) error {
		lines = lines[:0]
		begin, end := Key(ref), kv.AppendPrefixEnd(nil, Key(ref))
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

// Logs are the logs of the functions that have run in this process. It is safe for concurrent use.
type Logs struct {
	kv  kv.Store
	now func() time.Time

	mu  sync.Mutex
	all map[definition.Ref]*Log
}

// New gives the logs in a store; now is the clock that lines are stamped by.
func New(store kv.Store, now func() time.Time) *Logs {
	return &Logs{kv: store, now: now, all: make(map[definition.Ref]*Log)}
}

// Apart is a log of a function that nothing is written of: of a trial, or of the debugger.
func (a *Logs) Apart(ref definition.Ref) *Log { return &Log{in: a, ref: ref} }

// Of is the log of a function in this process.
func (a *Logs) Of(ref definition.Ref) *Log {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.all[ref]
	if l == nil {
		l = &Log{in: a, ref: ref}
		a.all[ref] = l
	}
	return l
}

// KeepWriting writes what functions have logged every so often, and once more when running ends.
func (a *Logs) KeepWriting(running context.Context, warn *slog.Logger) {
	for {
		ended := false
		select {
		case <-time.After(logEvery):
		case <-running.Done():
			ended = true
		}
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
