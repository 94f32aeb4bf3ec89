package storage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
)

// GlobalChanges is the database that lists what happened to the others: a document `created:db`, `updated:db` or
// `deleted:db` is written anew at every such event, and _db_updates is its changes feed (CouchDB's application
// global_changes). It is written only if it exists, and its own updates are not listed.
//
// Events are noted in memory after their commit, and written by one task: creations and deletions at once, updates
// after a pause that collects many of them. A writer never waits for it. A crash loses the events of the pause, as in
// CouchDB; closing the Store writes them.
const GlobalChanges = "_global_changes"

const (
	// eventPause is how long updates are collected; CouchDB's delays add up to about half a second, too.
	eventPause = 500 * time.Millisecond
	// eventBatch is how many documents are written in one call.
	eventBatch = 100
	// eventTries: a batch that meets conflicts (another process writes the same documents) is tried again so often.
	eventTries = 4
	// eventTimeout bounds the time of writing events, for which closing the Store waits.
	eventTimeout = 5 * time.Second
)

type dbEvent uint8

const (
	eventUpdated dbEvent = iota
	eventCreated
	eventDeleted
)

// prefix begins the id of the event's document (global_changes_listener:handle_event).
func (e dbEvent) prefix() string {
	return [...]string{eventUpdated: "updated:", eventCreated: "created:", eventDeleted: "deleted:"}[e]
}

type eventKey struct {
	name  string
	event dbEvent
}

// eventLog collects events until they are written.
type eventLog struct {
	mu      sync.Mutex
	noted   map[eventKey]struct{}
	order   []eventKey
	first   chan struct{} // has an element when something was noted
	urgent  chan struct{} // has an element when a database was created or deleted
	updated map[string]struct{}
}

func (l *eventLog) init() {
	l.noted = make(map[eventKey]struct{})
	l.updated = make(map[string]struct{})
	l.first, l.urgent = make(chan struct{}, 1), make(chan struct{}, 1)
}

// touched notes an event of a database after its commit.
func (s *Store) touched(name string, event dbEvent) {
	if event == eventUpdated && s.hooks.Updated != nil {
		s.hooks.Updated(name)
	}
	if s.bg.manual {
		return
	}
	l := &s.bg.events
	key := eventKey{name, event}
	l.mu.Lock()
	defer l.mu.Unlock()
	if event == eventUpdated {
		l.updated[name] = struct{}{}
	}
	_, again := l.noted[key]
	if name == GlobalChanges || again && event == eventUpdated {
		return
	}
	if again {
		l.order = slices.DeleteFunc(l.order, func(k eventKey) bool { return k == key }) // the last one counts
	}
	l.noted[key] = struct{}{}
	l.order = append(l.order, key)
	signal(l.first)
	if event != eventUpdated {
		signal(l.urgent)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take empties the log.
func (l *eventLog) take() []eventKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	order := l.order
	l.order = nil
	clear(l.noted)
	return order
}

// takeUpdated returns the databases that were updated since the last call.
func (l *eventLog) takeUpdated() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.updated))
	for name := range l.updated {
		names = append(names, name)
	}
	clear(l.updated)
	return names
}

// recordEvents writes events until ctx ends, then those that are left.
func (s *Store) recordEvents(ctx context.Context) {
	l := &s.bg.events
	for ctx.Err() == nil {
		select {
		case <-l.first:
		case <-ctx.Done():
		}
		select {
		case <-l.urgent:
		case <-time.After(eventPause):
		case <-ctx.Done():
		}
		s.writeEvents(ctx)
	}
	s.writeEvents(ctx)
}

// writeEvents writes what the log holds. Events that cannot be written are dropped: there is no database for them, or
// the store fails, which its writers will hear.
func (s *Store) writeEvents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventTimeout)
	defer cancel()
	for events := s.bg.events.take(); len(events) > 0; {
		batch := events[:batchOfEvents(events)]
		events = events[len(batch):]
		for range eventTries {
			rest, err := s.writeEventDocs(ctx, batch)
			if err != nil || len(rest) == 0 {
				break
			}
			batch = rest
		}
	}
}

// batchOfEvents is how many of the events are written in one call: one of each database, because the documents of a
// call get their sequences in the order of their ids: a deletion would come after the creation of the next database.
func batchOfEvents(events []eventKey) int {
	names := make(map[string]bool, eventBatch)
	for i, e := range events {
		if names[e.name] || i == eventBatch {
			return i
		}
		names[e.name] = true
	}
	return len(events)
}

// writeEventDocs writes a new revision of each event's document, and returns the events that met a conflict.
func (s *Store) writeEventDocs(ctx context.Context, batch []eventKey) ([]eventKey, error) {
	db := s.DB(GlobalChanges)
	docs := make([]*compat.Document, len(batch))
	for i, e := range batch {
		docs[i] = &compat.Document{ID: e.event.prefix() + e.name, HasID: true, Body: emptyDocument}
		last, err := db.Open(ctx, docs[i].ID, OpenOptions{NoBody: true})
		switch {
		case err == nil:
			docs[i].Revs = compat.RevPath{Start: last.Rev.Pos, IDs: []string{last.Rev.Hash}}
		case !errors.Is(err, compat.KindNotFound):
			return nil, err
		}
	}
	var results []EditResult
	err := fromReserve(ctx, func(ctx context.Context) (err error) { // short documents that replace each other
		results, err = db.Update(ctx, docs, UpdateOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	var conflicts []eventKey
	for i, r := range results {
		if r.Err != nil && r.Err.Kind == compat.KindConflict {
			conflicts = append(conflicts, batch[i])
		}
	}
	return conflicts, nil
}

// emptyDocument is the body {}.
var emptyDocument = compat.Body{JSON: emptyBody, Size: 2}
