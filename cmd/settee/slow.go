package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

const (
	// slowTransaction is how long a transaction on a cluster may wait for it before the log tells
	// of it: many times what a page of a list or a batch of a build takes.
	slowTransaction = 2 * time.Second
	// slowEvery is how often the log does so at most.
	slowEvery = time.Second
)

// slowLog tells of slow transactions.
type slowLog struct {
	log *slog.Logger

	mu    sync.Mutex
	last  time.Time
	other int // slow transactions since then that were not logged
}

// tellSlow returns store with its slow transactions in the log.
func tellSlow(store kv.Store, log *slog.Logger) kv.Store {
	l := &slowLog{log: log}
	return wrapkv.Slow(store, slowTransaction, func(w wrapkv.SlowTransaction) { l.tell(w, time.Now()) })
}

// tell logs a slow transaction, at most one each slowEvery: an overloaded store makes every
// transaction slow, and a line for each would add to the load. "untold" says how many were left out
// since the last line.
func (l *slowLog) tell(w wrapkv.SlowTransaction, now time.Time) {
	l.mu.Lock()
	other := l.other
	if now.Sub(l.last) < slowEvery {
		l.other++
		l.mu.Unlock()
		return
	}
	l.last, l.other = now, 0
	l.mu.Unlock()
	longest := "no read"
	if w.Longest != nil {
		longest = keyspace.KeyName(w.Longest)
	}
	kind := "read"
	if w.Update {
		kind = "write"
	}
	l.log.Warn("a transaction waited for the store", "kind", kind, "waited", w.Waited, "begin", w.Begin,
		"reads", w.Reads, "commit", w.Commit, "runs", w.Runs, "rows", w.Rows, "longest", longest,
		"untold", other)
}
