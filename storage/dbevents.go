package storage

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/kv"
)

// GlobalChanges is the database that lists what happened to the others: a document `created:db`,
// `updated:db` or `deleted:db` is written anew at every such event, and _db_updates is its changes
// feed (CouchDB's application global_changes). It is written only if it exists, and its own updates
// are not listed.
//
// Events are noted in memory after their commit, and written by one task: creations and deletions
// at once, updates after a pause that collects many of them. A writer never waits for it. A crash
// loses the events of the pause, as in CouchDB; closing the Store writes them.
const GlobalChanges = "_global_changes"

const (
	// eventPause is how long updates are collected; CouchDB's delays add up to about half a second,
	// too.
	eventPause = 500 * time.Millisecond
	// eventTries: a batch that meets conflicts (another process writes the same documents) is tried
	// again so often.
	eventTries = 4
	// eventTimeout bounds the time of writing events, for which closing the Store waits.
	eventTimeout = 5 * time.Second
)

// touched notes an event of a database after its commit.
func (s *Store) touched(name string, kind dbevents.Kind) {
	if kind == dbevents.Updated && s.hooks.Updated != nil {
		s.hooks.Updated(name)
	}
	if !s.bg.manual {
		s.bg.events.Note(dbevents.Event{Database: name, Kind: kind})
	}
}

// recordEvents writes events until ctx ends, then those that are left.
func (s *Store) recordEvents(ctx context.Context) {
	for ctx.Err() == nil {
		s.bg.events.Wait(ctx, eventPause)
		s.writeEvents(ctx)
	}
	s.writeEvents(ctx)
}

// writeEvents writes what the log holds. Events that cannot be written are dropped: there is no
// database for them, or the store fails, which its writers will hear.
func (s *Store) writeEvents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventTimeout)
	defer cancel()
	for events := s.bg.events.Take(); len(events) > 0; {
		batch := dbevents.Batch(events)
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

// writeEventDocs writes a new revision of each event's document, and returns the events that met a
// conflict.
func (s *Store) writeEventDocs(ctx context.Context, batch []dbevents.Event) ([]dbevents.Event, error) {
	db := s.DB(GlobalChanges)
	docs := make([]*compat.Document, len(batch))
	for i, e := range batch {
		docs[i] = &compat.Document{ID: e.ID(), HasID: true, Body: emptyDocument}
		last, err := db.Open(ctx, docs[i].ID, docread.OpenOptions{Members: docread.NoMembers})
		switch {
		case err == nil:
			docs[i].Revs = compat.RevPath{Start: last.Rev.Pos, IDs: []string{last.Rev.Hash}}
		case !errors.Is(err, compat.KindNotFound):
			return nil, err
		}
	}
	var results []EditResult
	err := kv.FromReserve(ctx, func(ctx context.Context) (err error) { // short documents that replace each other
		results, err = db.Update(ctx, docs, UpdateOptions{Trusted: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	var conflicts []dbevents.Event
	for i, r := range results {
		if r.Err != nil && r.Err.Kind == compat.KindConflict {
			conflicts = append(conflicts, batch[i])
		}
	}
	return conflicts, nil
}

// emptyDocument is the body {}.
var emptyDocument = compat.Body{JSON: formats.EmptyBody, Size: 2}
