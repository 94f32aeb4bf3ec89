package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Purge removes leaves for good: no tombstone is left, and ancestors that only they had go with
// them. It answers, in the order of the requests, which of the revisions were leaves and are gone,
// ascending. All of it happens in one transaction. The update sequence moves on even if nothing was
// there to purge, but not without any request.
func (db *DB) Purge(ctx context.Context, requests []IDRevs) ([]IDRevs, error) {
	return db.Purges().At(ctx, requests, nil)
}

// Purges are the purges of a database: the requests are remembered until Forget, because replicas and
// indexes are told of them.
type Purges struct{ db *DB }

// Purges gives the purges.
func (db *DB) Purges() Purges { return Purges{db} }

// At is DB.Purge for documents that were not updated after at, the sequence of each request's. The
// other requests are passed over, and not remembered.
func (p Purges) At(ctx context.Context, requests []IDRevs, at []Seq) ([]IDRevs, error) {
	var deferred deferredCalls
	for range maxLacks {
		var purged []IDRevs
		err := kv.FromReserve(ctx, func(ctx context.Context) (err error) {
			purged, err = p.attempt(ctx, requests, at, &deferred)
			return err
		})
		if !errors.Is(err, errPending) {
			return purged, err
		}
		if _, err := deferred.run(ctx, p.db.store.now, 0); err != nil {
			return nil, err
		}
	}
	return nil, compat.ErrTimeout
}

// attempt is one attempt of At. It fails with errPending when an index deferred callbacks.
func (p Purges) attempt(
	ctx context.Context, requests []IDRevs, at []Seq, deferred *deferredCalls,
) ([]IDRevs, error) {
	var purged []IDRevs
	err := p.db.update(ctx, func(t *dbTx) error {
		if err := t.whole(p.db); err != nil {
			return err
		}
		deferred.begin()
		t.deferred = deferred
		t.designs = slices.ContainsFunc(requests, func(r IDRevs) bool { return compat.IsDesignID(r.ID) })
		b := batch{db: p.db, t: t, mode: editMode{ctx: ctx}}
		if err := b.prepare(); err != nil {
			return err
		}
		purged = make([]IDRevs, len(requests))
		// CouchDB counts every leaf that a purged document still has as an update, or the request
		// if there is none.
		var renumbered int64
		var gone []string
		var noted []IDRevs
		pending := false
		// a document changes once in a transaction
		for _, group := range formats.ByID(requests, func(r IDRevs) string { return r.ID }) {
			left, changed, err := t.purgeDoc(group, requests, purged, at, b.index)
			if errors.Is(err, ErrPending) {
				pending = true
				continue
			}
			if err != nil {
				return err
			}
			if changed || at == nil {
				for _, i := range group {
					noted = append(noted, requests[i])
				}
			}
			renumbered += int64(left)
			if changed && left == 0 {
				gone = append(gone, requests[group[0]].ID)
			}
		}
		if pending {
			return errPending
		}
		if indexer, ok := p.db.store.hooks.Indexer.(PurgeIndexer); ok && len(gone) > 0 {
			if err := indexer.Purged(ctx, &Tx{t}, gone); err != nil {
				return err
			}
		}
		if len(noted) > 0 {
			t.stats[keyspace.Updates] += max(renumbered, 1) - t.counted.Added
		}
		return t.notePurges(noted)
	})
	return purged, err
}

// purgeDoc carries out the requests for one document. left is the number of leaves that stay if the
// document changed.
func (t *dbTx) purgeDoc(
	group []int,
	requests, purged []IDRevs,
	at []Seq,
	index IndexFunc,
) (left int, changed bool, err error) {
	id := requests[group[0]].ID
	leaves, err := t.Leaves(id)
	if err != nil || at != nil && (len(leaves) == 0 || leaves[len(leaves)-1].Seq != at[group[0]]) {
		return 0, false, err
	}
	var e docEdit
	e.start(id, t, leaves)
	e.purge = true
	for _, i := range group {
		purged[i] = IDRevs{ID: id}
		for _, rev := range requests[i].Revs {
			if n := e.tree.Leaf(rev); n >= 0 {
				e.tree = slices.Delete(e.tree, n, n+1)
				purged[i].Revs = append(purged[i].Revs, rev)
			}
		}
		slices.SortFunc(purged[i].Revs, compat.Rev.Compare)
	}
	if len(e.tree) == len(leaves) {
		return 0, false, nil
	}
	if err := e.dropUnreachable(); err != nil {
		return 0, false, err
	}
	return len(e.tree), true, e.flush(index)
}

// dropUnreachable removes the bodies of ancestors that no leaf has any more.
func (e *docEdit) dropUnreachable() error {
	begin, end := keyspace.Children(e.t.Keys.Doc(nil, keyspace.TagHistory, e.id))
	return e.dropHistory(begin, end)
}

// notePurges remembers the requests.
func (t *dbTx) notePurges(requests []IDRevs) error {
	for i := range requests {
		value := formats.EncodePurge(requests[i].ID, requests[i].Revs)
		if len(value) > keyspace.MaxValue {
			return compat.NewError(compat.KindBadRequest, "Exceeded maximum number of revisions.")
		}
		seq := t.nextSeq()
		key := t.Keys.SeqKey(nil, keyspace.TagPurges, seq)
		t.tx.SetVersionstampedKey(key, t.Keys.SeqStampOffset(key), value)
		t.tx.SetVersionstampedValue(t.Keys.Sub(nil, keyspace.TagPurgeSeq), keyspace.AppendSeq(nil, seq), 1)
	}
	t.stats[keyspace.Purges] += int64(len(requests))
	return nil
}

// Remembered lists the purge requests that are remembered, each once, ordered by id, then by
// revisions.
func (p Purges) Remembered(ctx context.Context) ([]IDRevs, error) {
	var infos []IDRevs
	var cursor []byte
	err := p.db.view(ctx, func(d *dbRead) error {
		if err := d.whole(); err != nil {
			return err
		}
		return d.Walk(d.Keys.Sub(nil, keyspace.TagPurges), &cursor, func(_, value []byte) error {
			id, revs, err := formats.ParsePurge(value)
			if err == nil {
				infos = append(infos, IDRevs{ID: id, Revs: revs})
			}
			return err
		})
	})
	sort.Slice(infos, func(i, j int) bool { return compareIDRevs(infos[i], infos[j]) < 0 })
	return slices.CompactFunc(infos, func(a, b IDRevs) bool { return compareIDRevs(a, b) == 0 }), err
}

func compareIDRevs(a, b IDRevs) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), slices.CompareFunc(a.Revs, b.Revs, compat.Rev.Compare))
}
