package changes

import (
	"context"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
)

// dbUpdates serves GET /_db_updates: the changes of the database _global_changes, whose documents
// are named after what happened to which database (global_changes_httpd).
func (h *handlers) dbUpdates(c *call.Call) error {
	o, err := params.ParseDBUpdates(c.Query)
	if err != nil {
		return err
	}
	kind, err := o.CheckFeed()
	if err != nil {
		return err
	}
	db := c.Env.Store.DB(storage.GlobalChanges)
	var first storage.UpdateSeq
	err = deep(func() error {
		if _, err := db.Feed().Last(c.Context()); err != nil { // of no database, whatever since is
			return err
		}
		since, err := o.ParseSince()
		if err == nil {
			first, err = db.Feed().Begin(c.Context(), since)
		}
		return err
	})
	if err != nil {
		return err
	}
	f := &changesFeed{
		c:          c,
		working:    h.working,
		db:         db,
		kind:       kind,
		descending: o.Descending,
		limit:      o.Limit,
		left:       o.Limit,
		last:       first,
		quiet:      true,
		appendRow:  appendDBUpdate,
		scan:       scanDBUpdates(db, o.Descending),
	}
	if kind == params.FeedEventSource {
		f.appendRow = appendGlobalChange
	}
	f.wait, f.heartbeat = o.Wait(time.Duration(c.Settings.ChangesTimeout) * time.Millisecond)
	return f.serve()
}

// scanDBUpdates passes over documents that are no events.
func scanDBUpdates(db *storage.DB, descending bool) scanFunc {
	return func(ctx context.Context, since storage.Seq, limit int64, row rowFunc) (storage.ChangesEnd, error) {
		o := storage.ChangesOptions{Since: since, Limit: -1, Descending: descending}
		if limit == 0 {
			o.Limit = 0
		}
		return db.Feed().Changes(ctx, o, func(ch *storage.Change) error {
			if !strings.Contains(ch.ID, ":") {
				return nil
			}
			if err := row(ch); err != nil {
				return err
			}
			if limit--; limit == 0 {
				return storage.ErrStop
			}
			return nil
		})
	}
}

// appendDBUpdate prints a row of _db_updates: the ids of its database are the event and the name.
func appendDBUpdate(b []byte, ch *storage.Change, withSeq bool) ([]byte, error) {
	event, name, _ := strings.Cut(ch.ID, ":")
	b = ejson.AppendString(append(b, `{"db_name":`...), name)
	b = ejson.AppendString(append(b, `,"type":`...), event)
	b = appendRowSeq(append(b, `,"seq":`...), ch, withSeq)
	return append(b, '}'), nil
}

// appendGlobalChange: an eventsource shows the row of _global_changes as it is.
func appendGlobalChange(b []byte, ch *storage.Change, withSeq bool) ([]byte, error) {
	b = appendRowSeq(append(b, `{"seq":`...), ch, withSeq)
	return append(appendChange(b, ch), '}'), nil
}
