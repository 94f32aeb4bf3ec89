package dbevents

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Kind is what happened to a database.
type Kind uint8

// The kinds of events.
const (
	Updated Kind = iota
	Created
	Deleted
)

// String is how the event's document begins (global_changes_listener:handle_event).
func (k Kind) String() string {
	return [...]string{Updated: "updated", Created: "created", Deleted: "deleted"}[k]
}

// Event is something that happened to a database.
type Event struct {
	Database string
	Kind     Kind
}

// ID is that of the event's document.
func (e Event) ID() string { return e.Kind.String() + ":" + e.Database }

// shardMap is CouchDB's database of the places of all shards, which is updated whenever a database
// is created or deleted. It does not exist here, but clients wait for its events.
const shardMap = "_dbs"

// Log has the events that are not written yet. Its methods are for concurrent use.
type Log struct {
	own string // the database of events: its own updates are none

	mu sync.Mutex
	// Events that wait to be written, each once, and their order.
	noted   map[Event]struct{}
	order   []Event
	first   chan struct{} // has an element when something was noted
	urgent  chan struct{} // has an element when a database was created or deleted
	updated map[string]struct{}
}

// New is an empty log of events which are written to the database own.
func New(own string) *Log {
	return &Log{
		own: own, noted: make(map[Event]struct{}), updated: make(map[string]struct{}),
		first: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
	}
}

// Note adds an event after its commit.
func (l *Log) Note(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == Updated {
		l.updated[e.Database] = struct{}{}
	} else {
		l.note(Event{shardMap, Updated})
		signal(l.urgent)
	}
	if e.Database != l.own {
		l.note(e)
	}
}

// note: its caller holds mu.
func (l *Log) note(e Event) {
	_, again := l.noted[e]
	if again && e.Kind == Updated {
		return
	}
	if again {
		l.order = slices.DeleteFunc(l.order, func(o Event) bool { return o == e })
	}
	l.noted[e] = struct{}{}
	l.order = append(l.order, e)
	signal(l.first)
}

// signal leaves an element in a channel with room for one, and does not block.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Wait returns when events are to be written: what was created or deleted at once, updates after a
// pause in which many of them are collected. It returns early when ctx ends.
func (l *Log) Wait(ctx context.Context, pause time.Duration) {
	select {
	case <-l.first:
	case <-ctx.Done():
	}
	select {
	case <-l.urgent:
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// Take empties the log, and returns what was in it in the order of what happened last.
func (l *Log) Take() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	order := l.order
	l.order = nil
	clear(l.noted)
	return order
}

// TakeUpdated returns the databases that were updated since its last call, the one of events among
// them.
func (l *Log) TakeUpdated() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.updated))
	for name := range l.updated {
		names = append(names, name)
	}
	clear(l.updated)
	return names
}

// batch is how many documents are written in one call.
const batch = 100

// Batch is those of the events, from the first on, that are written in one call: one of each
// database, because the documents of a call get their sequences in the order of their ids: a
// deletion would come after the creation of the next database.
func Batch(events []Event) []Event {
	names := make(map[string]bool, batch)
	for i, e := range events {
		if names[e.Database] || i == batch {
			return events[:i]
		}
		names[e.Database] = true
	}
	return events
}
