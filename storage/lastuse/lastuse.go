package lastuse

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// apart is how far uses of an index are apart that are written.
	apart = time.Hour
	// known is of how many indexes the time of the last write is kept in memory; another one costs a
	// transaction that may find nothing to write.
	known = 10_000
	// waiting is how many uses may wait for being written. What does not fit is noted again by the
	// next query.
	waiting = 256
)

// Options are what Uses needs.
type Options struct {
	Store *storage.Store
	Log   *slog.Logger
	Now   func() time.Time // nil: time.Now
}

// Uses notes uses of indexes. It is safe for concurrent use. It has to be an Indexer of the store,
// and Note its hook IndexUsed (storage.Hooks).
type Uses struct {
	o       Options
	written *cache.Cache[storage.IndexUse, time.Time]
	queue   chan noted
	end     context.CancelFunc
	ended   chan struct{}
}

// noted is a use that is to be written.
type noted struct {
	storage.IndexUse
	at time.Time
}

// New makes Uses, which write until Close.
func New(o Options) *Uses {
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, end := context.WithCancel(context.Background())
	u := &Uses{
		o: o, written: cache.New[storage.IndexUse, time.Time](known), queue: make(chan noted, waiting),
		end: end, ended: make(chan struct{}),
	}
	go u.run(ctx)
	return u
}

// Close ends the writer. What waits is not written.
func (u *Uses) Close() {
	u.end()
	<-u.ended
}

// Note notes that a query uses an index. It returns at once.
func (u *Uses) Note(use storage.IndexUse) {
	now := u.o.Now()
	if at, ok := u.written.Get(use); ok && now.Sub(at) < apart {
		return
	}
	select {
	case u.queue <- noted{use, now}:
		u.written.Add(use, now)
	default:
	}
}

// run writes what is noted until ctx ends. What cannot be written is logged, and noted again an hour
// later.
func (u *Uses) run(ctx context.Context) {
	defer close(u.ended)
	for {
		select {
		case use := <-u.queue:
			if err := u.write(ctx, use); err != nil && ctx.Err() == nil {
				u.o.Log.Debug("the use of an index was not written", "database", use.Database,
					"index", use.Design+"/"+use.Name, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// write stores a use, unless one is there that is not older than an hour, or the design document is
// gone.
func (u *Uses) write(ctx context.Context, use noted) error {
	err := u.o.Store.DB(use.Database).Transact(ctx, func(tx *storage.Tx) error {
		key := tuple.AppendString(tuple.AppendString(designKey(tx, use.Design), use.Kind), use.Name)
		// Read in the transaction: a deletion of the document conflicts.
		if rev, err := tx.Snapshot().WinnerRev(use.Design); err != nil || rev == (compat.Rev{}) {
			return err
		}
		stored, err := tx.KV().Get(key)
		if err != nil {
			return err
		}
		if at, n := binary.Varint(stored); n <= 0 || use.at.Sub(time.Unix(at, 0)) >= apart {
			tx.KV().Set(key, binary.AppendVarint(nil, use.at.Unix()))
		}
		return nil
	})
	if errors.Is(err, compat.KindNoDatabase) {
		return nil
	}
	return err
}

// prefixer is a transaction, or a snapshot.
type prefixer interface {
	AppendPrefix(dst []byte, tag keyspace.Tag) []byte
}

// designKey is the key of a design document, with which those of its indexes begin.
func designKey(p prefixer, id string) []byte {
	return tuple.AppendString(p.AppendPrefix(nil, keyspace.TagUses), id)
}
