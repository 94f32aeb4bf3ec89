package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// change is a row of a continuous feed with documents.
type change struct {
	ID      string                     `json:"id"`
	Deleted bool                       `json:"deleted"`
	Doc     map[string]json.RawMessage `json:"doc"`
}

// followed is told of the changes that have come together. It is an error to fail, and a way to end
// the feed.
type followed func([]*change) error

// errEnough ends a feed that has shown all that is wanted.
var errEnough = errors.New("enough")

// feed is a continuous feed that is followed.
type feed struct {
	c      *conn
	seen   followed
	rest   []byte // of a line
	rows   []*change
	failed error
	ended  chan struct{}
}

// follow has a function told of all changes of a database, and of those that come, until stop is
// called. The feed is open when it returns: some part of its answer has come.
func (s *session) follow(ctx context.Context, db string, documents bool, seen followed) (*feed, error) {
	c, err := dial(ctx, s.target, bufferLarge)
	if err != nil {
		return nil, err
	}
	if err := c.limit(eventLimit); err != nil {
		return nil, err
	}
	f := &feed{c: c, seen: seen, ended: make(chan struct{})}
	c.part = f.take
	// Heartbeats make a server begin its answer where there is no row.
	path := s.db(db) + "/_changes?feed=continuous&heartbeat=100"
	if documents {
		path += "&include_docs=true"
	}
	begun := make(chan struct{}, 1)
	c.waiting = func() { begun <- struct{}{} }
	go func() {
		defer close(f.ended)
		_, err := c.do(ctx, &request{method: "GET", path: []byte(path)}, 200)
		if f.failed == nil && !errors.Is(err, net.ErrClosed) {
			f.failed = err
		}
	}()
	select {
	case <-begun:
		return f, nil
	case <-f.ended:
		return nil, errors.Join(errors.New("the feed has ended"), f.failed)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), f.stop())
	}
}

// take gets a part of the answer; last tells whether nothing more has come yet.
func (f *feed) take(part []byte, last bool) {
	for f.failed == nil {
		line, after, found := bytes.Cut(part, []byte{'\n'})
		if !found {
			break
		}
		f.rest = append(f.rest, line...)
		f.line(f.rest)
		f.rest, part = f.rest[:0], after
	}
	f.rest = append(f.rest, part...)
	if last && len(f.rows) > 0 && f.failed == nil {
		f.flush()
	}
	if f.failed != nil {
		f.c.nc.Close()
	}
}

func (f *feed) line(line []byte) {
	if len(line) == 0 {
		return // a heartbeat
	}
	ch := new(change)
	if err := json.Unmarshal(line, ch); err != nil {
		f.failed = fmt.Errorf("row of a feed %.100q: %w", line, err)
		return
	}
	if strings.HasPrefix(ch.ID, "_design/") {
		return
	}
	if f.rows = append(f.rows, ch); len(f.rows) == followedTogether {
		f.flush()
	}
}

// followedTogether is how many changes a follower takes together at most.
const followedTogether = 100

func (f *feed) flush() {
	f.failed = f.seen(f.rows)
	f.rows = nil
}

// stop ends the feed, if it has not ended, and tells what went wrong with it.
func (f *feed) stop() error {
	f.c.nc.Close()
	<-f.ended
	if errors.Is(f.failed, errEnough) {
		return nil
	}
	return f.failed
}

// copier writes changed documents to another database: what a program does in a function's place,
// where there are none.
type copier struct {
	c     *conn
	path  string
	alone bool // with a PUT for each document, and not _bulk_docs
	body  []byte
}

// newCopier makes one that has a connection of its own.
func (s *session) newCopier(ctx context.Context, target string, alone bool) (*copier, error) {
	c, err := dial(ctx, s.target, bufferLarge)
	if err != nil {
		return nil, err
	}
	return &copier{c: c, path: s.db(target), alone: alone}, c.limit(eventLimit)
}

// seen writes what a feed tells.
func (w *copier) seen(ctx context.Context) followed {
	return func(rows []*change) error { return w.write(ctx, rows) }
}

// write writes the documents of changes, all new in the target.
func (w *copier) write(ctx context.Context, rows []*change) error {
	if w.alone {
		for _, ch := range rows {
			delete(ch.Doc, "_rev")
			body, err := json.Marshal(ch.Doc)
			if err != nil {
				return err
			}
			req := &request{method: "PUT", path: []byte(w.path + "/" + ch.ID), body: body}
			if _, err := w.c.do(ctx, req, 201); err != nil {
				return err
			}
		}
		return nil
	}
	w.body = append(w.body[:0], `{"docs":[`...)
	for i, ch := range rows {
		delete(ch.Doc, "_rev")
		doc, err := json.Marshal(ch.Doc)
		if err != nil {
			return err
		}
		if i > 0 {
			w.body = append(w.body, ',')
		}
		w.body = append(w.body, doc...)
	}
	w.body = append(w.body, "]}"...)
	w.c.keep = true
	if _, err := w.c.do(ctx, &request{method: "POST", path: []byte(w.path + "/_bulk_docs"), body: w.body},
		201); err != nil {
		return err
	}
	if stored := bytes.Count(w.c.body, []byte(`"ok":true`)); stored != len(rows) {
		return fmt.Errorf("%d of %d documents were copied", stored, len(rows))
	}
	return nil
}

// followAll follows a database until it has seen so many documents, or time is up, and returns how
// many it has seen.
func (s *session) followAll(ctx context.Context, db string, count int64, seen followed) (done int64, err error) {
	end := time.Now().Add(followLimit)
	f, err := s.follow(ctx, db, true, func(rows []*change) error {
		if err := seen(rows); err != nil {
			return err
		}
		if done += int64(len(rows)); done >= count || time.Now().After(end) {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	select {
	case <-f.ended:
	case <-ctx.Done():
	}
	if err := f.stop(); err != nil {
		return 0, err
	}
	return done, ctx.Err()
}
