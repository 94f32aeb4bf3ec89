package kv

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// Row is an entry of the store.
type Row struct{ Key, Value []byte }

// walkBytes bounds the rows of a window of Walk.
const walkBytes = 1 << 20

// MaxAged is after how many snapshots in a row without progress, each of which became too old, a
// read over several snapshots gives up.
const MaxAged = 10

// awayPatience bounds how long reads are repeated that became too old because the store's servers
// did not answer.
const awayPatience = 8 * time.Second

// GivesUp reports whether reads, which have had no success since then and now failed with err,
// should not be repeated any more: they are too old because the store's servers do not answer, and
// awayPatience is over.
func GivesUp(err error, since time.Time) bool {
	return errors.Is(err, ErrUnavailable) && time.Since(since) >= awayPatience
}

// GoOn calls read until it does not fail with ErrTooOld any more, or does so again and again without
// having advanced, or the store's servers do not answer (ADR 0043). Read goes on in a newer snapshot
// where it was in the one before, and tells whether a part of its work was done for good.
func GoOn(ctx context.Context, read func() (advanced bool, err error)) error {
	since := time.Now()
	for aged := 1; ; aged++ {
		advanced, err := read()
		if !errors.Is(err, ErrTooOld) || ctx.Err() != nil {
			return err
		}
		if advanced {
			aged, since = 0, time.Now()
		}
		if aged == MaxAged || GivesUp(err, since) {
			return err
		}
	}
}

// ViewAgain is Store.View for reads that can begin anew: fn is run again when its snapshot became
// too old, ten times in a row at most.
func ViewAgain(ctx context.Context, s Store, fn func(ReadTx) error) error {
	return GoOn(ctx, func() (bool, error) { return false, s.View(ctx, fn) })
}

// Walk reads begin <= key < end in ascending order, in windows of at most so many rows, from as
// many snapshots as that takes: a check of the whole store would outlive any of a store that limits
// their age. fn is called for each window, with a reader of the snapshot that it is from, for what
// belongs to the rows. When fn fails with ErrTooOld it is called again with the same rows as a
// newer snapshot has them, or with fewer; so it must change nothing before it is done. Rows are
// valid until fn returns, and not its to change. Its other errors end Walk.
func Walk(ctx context.Context, s Store, begin, end []byte, rows int, fn func(r ReadTx, window []Row) error) error {
	w := walk{begin: bytes.Clone(begin), end: end, most: rows, rows: rows, fn: fn}
	for aged := 1; ; aged++ {
		before := w.windows
		err := s.View(ctx, w.read)
		if !errors.Is(err, ErrTooOld) || ctx.Err() != nil {
			return err
		}
		if w.windows > before {
			aged = 0
		}
		if aged == MaxAged {
			return err
		}
		w.rows = max(1, w.rows/2)
	}
}

type walk struct {
	begin, end []byte
	rows, most int
	windows    int // done
	window     []Row
	mem        []byte // of the window
	fn         func(r ReadTx, window []Row) error
}

// read reads on in one snapshot.
func (w *walk) read(r ReadTx) error {
	it := r.Range(w.begin, w.end, RangeOptions{WantAll: true})
	defer it.Close()
	size := 0
	w.window, w.mem = w.window[:0], w.mem[:0]
	for it.Next() {
		w.window = append(w.window, Row{w.keep(it.Key()), w.keep(it.Value())})
		size += len(it.Key()) + len(it.Value())
		if len(w.window) < w.rows && size < walkBytes {
			continue
		}
		if err := w.give(r); err != nil {
			return err
		}
		size = 0
	}
	if err := it.Err(); err != nil {
		return err
	}
	return w.give(r)
}

// give hands a window to the callback, and moves the beginning only after the callback took it: a
// walk whose snapshot became too old between two windows repeats no row. Windows double, so that a
// short walk reads little and a long one has few round trips.
func (w *walk) give(r ReadTx) error {
	n := len(w.window)
	if n == 0 {
		return nil
	}
	if err := w.fn(r, w.window); err != nil {
		return err
	}
	w.begin = AppendKeyAfter(w.begin[:0], w.window[n-1].Key)
	w.window, w.mem, w.rows = w.window[:0], w.mem[:0], min(2*w.rows, w.most)
	w.windows++
	return nil
}

// keep copies bytes for the window; when the memory has to grow, earlier rows keep the old one.
func (w *walk) keep(b []byte) []byte {
	n := len(w.mem)
	w.mem = append(w.mem, b...)
	return w.mem[n:len(w.mem):len(w.mem)]
}
