package users

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// peruserState is how far the users database's feed was followed for databases of users.
type peruserState struct {
	since storage.Seq
}

// watchPause is how long the directory waits after a failure, or while there is no users database.
const watchPause = time.Second

// renamePause is how long another database than before that the settings name has no built-in
// design document, so that administrators can fill it as they like (see
// documents.EnsureAuthDesign). CouchDB makes it this long after the database before is gone.
const renamePause = 5 * time.Second

// watch follows the users database until the server stops or the store is closed: what is
// remembered is dropped when it changes, and users get databases of their own if couch_peruser says
// so. settings returns those in force.
func (d *Directory) watch(settings func() *auth.Settings) {
	before := settings().UsersDB
	for d.ctx.Err() == nil {
		name, pause := settings().UsersDB, time.Duration(0)
		if name != before {
			pause = renamePause
		}
		before = name
		err := d.follow(settings, name, pause)
		if errors.Is(err, kv.ErrClosed) {
			return
		}
		if err != nil && d.ctx.Err() == nil && !errors.Is(err, compat.KindNoDatabase) {
			d.log.Warn("users database", "error", err)
		}
		d.peruser = peruserState{}
		select {
		case <-d.ctx.Done():
		case <-d.nudge:
		case <-time.After(watchPause):
		}
	}
}

// follow listens to one database until it is gone or the settings name another one. The database
// gets its design document after pause.
func (d *Directory) follow(settings func() *auth.Settings, name string, pause time.Duration) error {
	l, err := d.store.DB(name).Feed().Listen(d.ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	defer d.Forget()
	design := time.NewTimer(pause)
	defer design.Stop()
	for {
		d.Forget()
		set := settings()
		if set.UsersDB != name {
			return nil
		}
		if err := d.syncDatabases(d.ctx, set); err != nil {
			return err
		}
		select {
		case <-d.ctx.Done():
			return d.ctx.Err()
		case <-d.nudge:
		case <-design.C:
			if err := documents.EnsureAuthDesign(d.ctx, d.store.DB(name)); err != nil {
				return err
			}
		case <-l.C():
			if err := l.Wait(d.ctx); err != nil {
				return err
			}
		}
	}
}

// ConfigChanged wakes watch up.
func (d *Directory) ConfigChanged() {
	select {
	case d.nudge <- struct{}{}:
	default:
	}
}

// syncDatabases brings the databases of users up to date with the feed. When couch_peruser is
// switched on it begins at the start, so that every user has one.
func (d *Directory) syncDatabases(ctx context.Context, set *auth.Settings) error {
	if !set.PerUser.Enabled {
		d.peruser = peruserState{}
		return nil
	}
	type change struct {
		name    string
		deleted bool
	}
	var changed []change
	since := storage.ChangesOptions{Since: d.peruser.since, Limit: -1}
	end, err := d.store.DB(set.UsersDB).Feed().Changes(ctx, since, func(c *storage.Change) error {
		if name, ok := strings.CutPrefix(c.ID, principal.DocPrefix); ok {
			changed = append(changed, change{name, c.Deleted})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range changed {
		if err := d.syncDatabase(ctx, &set.PerUser, c.name, c.deleted); err != nil {
			d.log.Warn("database of a user", "user", c.name, "error", err)
		}
	}
	d.peruser.since = end.Last.Seq
	return nil
}

// syncDatabase makes one user's database and lets the user in, or deletes it or takes the rights
// away after the user was deleted (couch_peruser:changes_handler).
func (d *Directory) syncDatabase(ctx context.Context, p *auth.PerUser, user string, deleted bool) error {
	name := p.Prefix + hex.EncodeToString([]byte(user))
	if deleted && p.DeleteDBs {
		if err := d.store.Delete(ctx, name); !errors.Is(err, compat.KindNoDatabase) {
			return err
		}
		return nil
	}
	if !deleted {
		if err := d.createFor(ctx, p, name, user); err == nil || !errors.Is(err, compat.KindFileExists) {
			return err
		}
	}
	db := d.store.DB(name)
	object, err := db.Settings().Security(ctx)
	if errors.Is(err, compat.KindNoDatabase) {
		return nil
	}
	if err != nil {
		return err
	}
	if object == nil {
		object = []byte(compat.DefaultSecurity)
	}
	v, err := ejson.Parse(object)
	if err != nil {
		return err
	}
	if next, changed := withMember(v, user, !deleted); changed {
		return db.Settings().SetSecurity(ctx, next)
	}
	return nil
}

// createFor makes a user's database, which the user may use from its first moment.
func (d *Directory) createFor(ctx context.Context, p *auth.PerUser, name, user string) error {
	if err := compat.ValidateDatabaseName(name); err != nil {
		return err
	}
	v, err := ejson.Parse([]byte(compat.DefaultSecurity))
	if err != nil {
		return err
	}
	security, _ := withMember(v, user, true)
	return d.store.Create(ctx, name, storage.CreateOptions{Q: p.Q, N: 1, Security: security})
}

// withMember returns a security object with the user added to the names of admins and members, or
// removed from them.
func withMember(security ejson.Value, user string, add bool) (next []byte, changed bool) {
	b := []byte{'{'}
	member := func(key string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(ejson.AppendString(b, key), ':'), value...)
	}
	seen := map[string]bool{}
	for key, value := range security.Members() {
		text := value.AppendJSON(nil)
		if name := key.Text(); name == "admins" || name == "members" {
			seen[name] = true
			var edited bool
			text, edited = withName(value, user, add)
			changed = changed || edited
		}
		member(key.Text(), text)
	}
	for _, name := range []string{"admins", "members"} {
		if add && !seen[name] {
			member(name, append(ejson.AppendStrings([]byte(`{"names":`), []string{user}), '}'))
			changed = true
		}
	}
	return append(b, '}'), changed
}

// withName is withMember for one of the two lists.
func withName(list ejson.Value, user string, add bool) (next []byte, changed bool) {
	var names []string
	if v, ok := list.Get("names"); ok {
		for name := range v.Elements() {
			names = append(names, name.Text())
		}
	}
	i := slices.Index(names, user)
	switch {
	case add && i < 0:
		names = append([]string{user}, names...)
	case !add && i >= 0:
		names = slices.Delete(names, i, i+1)
	default:
		return list.AppendJSON(nil), false
	}
	b, found := []byte{'{'}, false
	for key, value := range list.Members() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(key.AppendJSON(b), ':')
		if key.TextIs("names") {
			b, found = ejson.AppendStrings(b, names), true
		} else {
			b = value.AppendJSON(b)
		}
	}
	if !found {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = ejson.AppendStrings(append(b, `"names":`...), names)
	}
	return append(b, '}'), true
}
