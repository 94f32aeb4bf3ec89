package replication

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// field is a change of a member of a replication document; nil removes it.
type field struct {
	name string
	json []byte
}

func text(s string) []byte { return ejson.AppendString(nil, s) }

// The members that say how a replication stands (couch_replicator_docs:update_…).

func noStateFields() []field {
	return []field{{"_replication_state", nil}, {"_replication_state_time", nil}, {"_replication_state_reason", nil},
		{"_replication_id", nil}, {"_replication_stats", nil}}
}

// completedFields are the members that a document gets when its replication is completed
// (couch_replicator_docs:update_doc_completed).
func completedFields(p Progress, begun time.Time) []field {
	stats := append(p.AppendInfo([]byte{'{'}), `,"start_time":"`...)
	stats = append(append(stats, ISO8601(begun)...), `"}`...)
	return []field{
		{"_replication_state", text("completed")},
		{"_replication_state_reason", nil},
		{"_replication_stats", stats},
	}
}

func failedFields(reason string) []field {
	return []field{
		{"_replication_state", text("failed")},
		{"_replication_stats", nil},
		{"_replication_state_reason", text(reason)},
	}
}

func triggeredFields(id JobID) []field {
	return []field{{"_replication_state", text("triggered")}, {"_replication_state_reason", nil},
		{"_replication_id", text(id.String())}, {"_replication_stats", nil}}
}

func errorFields(id, reason string) []field {
	idJSON := []byte("null")
	if id != "" {
		idJSON = text(id)
	}
	return []field{{"_replication_state", text("error")}, {"_replication_state_reason", text(reason)},
		{"_replication_stats", nil}, {"_replication_id", idJSON}}
}

// ISO8601 is a time as replication documents and jobs have it.
func ISO8601(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

const (
	writeTries   = 20
	writeTimeout = 30 * time.Second
)

// write changes members of a document, whatever else changes in it meanwhile. A document that is
// gone stays so.
func (d *documents) write(db, id string, fields []field) {
	// The state is written even while the scheduler stops: what has just completed would run again
	// after the next start.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.s.ctx), writeTimeout)
	defer cancel()
	for try := range writeTries {
		err := d.writeOnce(ctx, db, id, fields)
		if errors.Is(err, compat.KindConflict) {
			// Users and other processes write the same document; random pauses let one of them
			// through.
			if sleep(ctx, jitter(time.Duration(min(1<<try, 128))*10*time.Millisecond)) == nil {
				continue
			}
		}
		if err != nil {
			d.s.o.Log.Warn("state of a replication document", "database", db, "document", id, "error", err)
		}
		return
	}
}

// writeOnce changes the members once, on top of the revision that it reads. The error is of
// KindConflict if somebody else has written meanwhile; write tries again then. A document that
// would not change is not written, because each new revision of it wakes the watcher.
func (d *documents) writeOnce(ctx context.Context, db, id string, fields []field) error {
	doc, err := d.open(ctx, db, id)
	if err != nil || doc == nil {
		return err
	}
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	changed := withFields(body, fields, time.Now())
	if string(changed) == string(doc.Body) {
		return nil
	}
	// The edit goes on top of the revision that was read, with its attachments kept.
	edit := &compat.Document{
		ID:          id,
		HasID:       true,
		Attachments: doc.Attachments,
		Revs:        compat.RevPath{Start: doc.Rev.Pos, IDs: []string{doc.Rev.Hash}},
	}
	if edit.Body, err = compat.NewBody(changed); err != nil {
		return err
	}
	results, err := d.s.o.Store.DB(db).Update(ctx, []*compat.Document{edit}, storage.UpdateOptions{Trusted: true})
	if err != nil {
		return err
	}
	if results[0].Err != nil {
		return results[0].Err
	}
	return nil
}

// withFields prints an object with changed members: known ones keep their places, new ones come
// last. A new state gets its time (couch_replicator_docs:update_rep_doc).
func withFields(body ejson.Value, fields []field, now time.Time) []byte {
	type member struct {
		name string
		json []byte
	}
	var members []member
	for name, value := range body.Members() {
		members = append(members, member{name.Text(), value.AppendJSON(nil)})
	}
	set := func(name string, json []byte) {
		for i := range members {
			if members[i].name == name {
				if json == nil {
					members = append(members[:i], members[i+1:]...)
				} else {
					members[i].json = json
				}
				return
			}
		}
		if json != nil {
			members = append(members, member{name, json})
		}
	}
	for _, f := range fields {
		if f.name == "_replication_state" && f.json != nil {
			// The same state again keeps its time.
			if old, ok := body.Get(f.name); ok && string(old.AppendJSON(nil)) == string(f.json) {
				continue
			}
			set(f.name, f.json)
			set("_replication_state_time", text(ISO8601(now)))
			continue
		}
		set(f.name, f.json)
	}
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(ejson.AppendString(b, m.name), ':'), m.json...)
	}
	return append(b, '}')
}
