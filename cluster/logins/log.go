package logins

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Failure stands for whom a login failed for: an address, a name and a password's salt.
type Failure [32]byte

const (
	// maxUntold bounds the failures that wait for the store; more of them are counted here only.
	maxUntold = 1000
	// window is how many failures are read at a time.
	window = 1000
	// again is how long after an error the store is asked again.
	again = time.Second
	// shortestLife bounds from below how long rows are kept: others may be late to read them.
	shortestLife = 10 * time.Second
	// sweepsPerLife is how often in a lifetime old rows are looked for.
	sweepsPerLife = 4
	// stampKey is the length of a versionstamp in a key.
	stampKey = 1 + len(kv.Versionstamp{})
)

// Options configure New.
type Options struct {
	KV     kv.Store
	Prefix []byte // of all keys
	Log    *slog.Logger
}

// Log tells other processes of failed logins. It is safe for concurrent use.
type Log struct {
	o      Options
	self   [16]byte
	untold chan Failure

	failed func(Failure)
	life   func() time.Duration

	mu   sync.Mutex // guards what follows
	read []byte     // the last key that was read; written by follow alone
	kept []batch
}

// batch is the time at which some rows were read, and the last key of them: sweep removes them a
// lifetime later.
type batch struct {
	last  []byte // key
	since time.Time
}

// New makes the Log of a store as one of its processes sees it.
func New(o Options) *Log {
	l := &Log{o: o, untold: make(chan Failure, maxUntold), read: bytes.Clone(o.Prefix)}
	_, _ = rand.Read(l.self[:]) // it never fails
	return l
}

// Follow names the function that is called for failures of other processes, and how long failures
// count. It is called before Run.
func (l *Log) Follow(failed func(Failure), life func() time.Duration) {
	l.failed, l.life = failed, life
}

// Tell queues a failure, which Run soon writes for the other processes. It never waits: a failure
// that finds the queue full is dropped.
func (l *Log) Tell(f Failure) {
	select {
	case l.untold <- f:
	default:
	}
}

// Run tells and follows until ctx ends.
func (l *Log) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { l.tell(ctx) })
	running.Go(func() { l.sweep(ctx) })
	for ctx.Err() == nil {
		count, err := l.follow(ctx)
		if err == nil {
			err = l.o.KV.Watch(ctx, l.o.Prefix, count)
		}
		l.pause(ctx, "followed", err)
	}
}

// pause waits after an error.
func (l *Log) pause(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	l.o.Log.Warn("failed logins could not be "+what, "error", err)
	select {
	case <-time.After(again):
	case <-ctx.Done():
	}
}

// tell writes all failures that wait, in one transaction.
func (l *Log) tell(ctx context.Context) {
	for {
		var list []Failure
		select {
		case f := <-l.untold:
			list = append(list, f)
		case <-ctx.Done():
			return
		}
		for len(l.untold) > 0 && len(list) < maxUntold {
			list = append(list, <-l.untold)
		}
		_, err := l.o.KV.Update(ctx, func(tx kv.Tx) error {
			for i, f := range list {
				key, offset := tuple.AppendVersionstampHole(bytes.Clone(l.o.Prefix), uint16(i))
				tx.SetVersionstampedKey(key, offset, append(l.self[:len(l.self):len(l.self)], f[:]...))
			}
			tx.Atomic(kv.Add, l.o.Prefix, binary.LittleEndian.AppendUint64(nil, uint64(len(list))))
			return nil
		})
		l.pause(ctx, "told", err)
	}
}

// follow reads what other processes have told since it was last called; count is what the count was
// before.
func (l *Log) follow(ctx context.Context) (count []byte, err error) {
	for {
		var list []Failure
		last, full := l.read, false
		err := l.o.KV.View(ctx, func(tx kv.ReadTx) error {
			it := tx.Range(kv.AppendKeyAfter(nil, l.read), after(l.o.Prefix), kv.RangeOptions{Limit: window})
			defer it.Close()
			value, err := tx.Get(l.o.Prefix)
			if err != nil {
				return err
			}
			count = bytes.Clone(value)
			n := 0
			for ; it.Next(); n++ {
				last = bytes.Clone(it.Key())
				teller, f, err := parse(last[len(l.o.Prefix):], it.Value())
				if err != nil {
					return err
				}
				if teller != l.self {
					list = append(list, f)
				}
			}
			full = n == window
			return it.Err()
		})
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			l.failed(f)
		}
		if !bytes.Equal(last, l.read) {
			l.noteRead(last)
		}
		if !full {
			return count, nil
		}
	}
}

// noteRead notes up to where rows were read, and when.
func (l *Log) noteRead(last []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = last
	l.kept = append(l.kept, batch{last: last, since: time.Now()})
}

// sweep removes old rows from time to time until ctx ends.
func (l *Log) sweep(ctx context.Context) {
	for {
		life := max(l.life(), shortestLife)
		select {
		case <-time.After(life / sweepsPerLife):
		case <-ctx.Done():
			return
		}
		l.pause(ctx, "removed", l.remove(ctx, time.Now().Add(-life)))
	}
}

// remove removes the rows that were read before a time.
func (l *Log) remove(ctx context.Context, before time.Time) error {
	l.mu.Lock()
	n := 0
	for n < len(l.kept) && l.kept[n].since.Before(before) {
		n++
	}
	var last []byte
	if n > 0 {
		last = l.kept[n-1].last
	}
	l.kept = l.kept[n:]
	l.mu.Unlock()
	if last == nil {
		return nil
	}
	_, err := l.o.KV.Update(ctx, func(tx kv.Tx) error {
		tx.ClearRange(kv.AppendKeyAfter(nil, l.o.Prefix), kv.AppendKeyAfter(nil, last))
		return nil
	})
	return err
}

// after is the end of the keys below a prefix.
func after(prefix []byte) []byte { return append(prefix[:len(prefix):len(prefix)], 0xff) }

// parse reads a failure from its key, behind the prefix, and its value. The error is kv.ErrCorrupt.
func parse(key, value []byte) (teller [16]byte, f Failure, err error) {
	if len(key) != stampKey || len(value) != len(teller)+len(f) {
		return teller, f, fmt.Errorf("logins: malformed failure %q: %w", key, kv.ErrCorrupt)
	}
	return [16]byte(value), Failure(value[len(teller):]), nil
}
