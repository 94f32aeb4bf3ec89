package users

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// Directory finds users by name. It remembers documents, and that there is none, until the users
// database changes: at once for writes through this server, and a wake-up later for those of
// others.
type Directory struct {
	store    *storage.Store
	verifier *principal.Verifier
	stats    *stats.Stats
	log      *slog.Logger

	mu         sync.Mutex
	generation atomic.Uint64 // of the database: the stamp of what was read
	cached     *cache.Stamped[userKey, uint64, *principal.User]

	upgrading map[string]bool // names, guarded by mu
	running   sync.WaitGroup
	ctx       context.Context // of background work
	stop      context.CancelFunc
	nudge     chan struct{} // the configuration has changed
	peruser   peruserState
}

type userKey struct{ db, name string }

// maxCachedUsers bounds the memory of the directory.
const maxCachedUsers = 16384

// New opens the directory over the users database of the store, which need not be there yet.
func New(store *storage.Store, verifier *principal.Verifier, stats *stats.Stats, log *slog.Logger) (*Directory, error) {
	d := &Directory{
		store: store, verifier: verifier, stats: stats, log: log,
		cached:    cache.NewStamped[userKey, uint64, *principal.User](maxCachedUsers),
		upgrading: make(map[string]bool), nudge: make(chan struct{}, 1),
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d, nil
}

// Start begins to follow the users database; settings returns those in force.
func (d *Directory) Start(settings func() *auth.Settings) {
	d.running.Go(func() { d.watch(settings) })
}

// Close ends background work and waits for it.
func (d *Directory) Close() {
	d.stop()
	d.running.Wait()
}

// Find reads a user's document; nil if there is none, or no such database. Statistics count who is
// known as a hit, others as a miss, unless they are server admins, who need no document
// (chttpd_auth_cache:get_from_cache).
func (d *Directory) Find(ctx context.Context, db, name string, admin bool) (*principal.User, error) {
	key := userKey{db, name}
	generation := d.generation.Load()
	u, cached := d.cached.Get(key, generation)
	if u != nil || !admin {
		d.stats.AuthCache(u != nil)
	}
	if cached {
		return u, nil
	}
	doc, err := d.store.DB(db).Open(ctx, principal.DocPrefix+name, docread.OpenOptions{Conflicts: true})
	switch {
	case err == nil:
		if u = principal.ParseUser(name, doc.Body); u != nil {
			u.Conflicted = len(doc.Conflicts) > 0
		}
	case !errors.Is(err, compat.KindNotFound) && !errors.Is(err, compat.KindNoDatabase):
		return nil, err
	}
	d.cached.Add(key, generation, u)
	return u, nil
}

// Forget empties the cache of users; it is called when the users database has changed.
func (d *Directory) Forget() { d.generation.Add(1) }

// upgradePause is how long after a login a hash is rewritten. Programs log in and then store the
// user's document as they had read it, with a new password: that goes first and is no conflict.
const upgradePause = 250 * time.Millisecond

// Upgrade rewrites a user's outdated hash in the background (couch_password_hasher). The password
// was checked.
func (d *Directory) Upgrade(set *auth.Settings, name, password string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.upgrading[name] || d.ctx.Err() != nil {
		return
	}
	d.upgrading[name] = true
	d.running.Go(func() {
		select {
		case <-time.After(upgradePause):
		case <-d.ctx.Done():
		}
		if err := d.rewrite(d.ctx, set, name, password); err != nil && d.ctx.Err() == nil {
			d.log.Warn("password hash was not upgraded", "user", name, "error", err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.upgrading, name)
	})
}

// rewrite hashes the password of a user again after the settings for hashes have changed; the
// password is known only at a login. The document is read anew, because it may have changed since
// the login began. A conflict is no error: the next login tries again.
func (d *Directory) rewrite(ctx context.Context, set *auth.Settings, name, password string) error {
	db := d.store.DB(set.UsersDB)
	stored, err := db.Open(ctx, principal.DocPrefix+name, docread.OpenOptions{})
	if err != nil {
		return err
	}
	if u := principal.ParseUser(name, stored.Body); u == nil || !u.Outdated(set.Hashing) {
		return nil // somebody else has changed it
	}
	body, err := ejson.Parse(stored.Body)
	if err != nil {
		return err
	}
	edit, err := documents.EditOf(stored)
	if err != nil {
		return err
	}
	if body, err = ejson.Parse(principal.WithPassword(body, password)); err != nil {
		return err
	}
	var hashed []byte
	err = d.verifier.Do(ctx, "", func() (err error) {
		hashed, err = principal.HashDocument(body, set.Hashing, &set.Policy)
		return err
	})
	if err != nil {
		return err
	}
	if edit.Body, err = compat.NewBody(hashed); err != nil {
		return err
	}
	results, err := db.Update(ctx, []*compat.Document{edit}, storage.UpdateOptions{})
	d.Forget()
	if err == nil && results[0].Err != nil && !errors.Is(results[0].Err, compat.KindConflict) {
		err = results[0].Err
	}
	return err
}
