package search

import (
	"context"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Info is the information about an index that _search_info and _nouveau_info show.
type Info struct {
	// Built is false before the first update of an index: then it has nothing.
	Built bool
	Docs  int64
	// Deleted are documents of segments that are not alive any more, and not removed yet.
	Deleted int64
	Errors  int64
	Bytes   int64
	// Pending is the number of updates of the database, Committed how many of them the index has.
	Pending, Committed uint64
	Purges             int64
	// Paused is why the index is not built, MergesPaused why segments are not merged any more; ""
	// if they are.
	Paused, MergesPaused string
}

// Info reads what _search_info and _nouveau_info tell of an index, from one snapshot, without
// building it. An index that was never built has only the numbers of its database.
func (x *Indexes) Info(ctx context.Context, db *storage.DB, def *Definition) (*Info, error) {
	var info *Info
	var number int64
	err := db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		info = &Info{}
		last, err := s.LastSeq()
		if err != nil {
			return err
		}
		if info.Pending, err = s.Number(last); err != nil {
			return err
		}
		if info.Purges, err = s.Stat(keyspace.Purges); err != nil {
			return err
		}
		sp := spaceOf(s)
		rec, _, err := readRecord(s.KV(), sp, def.signature)
		if err != nil || rec == nil {
			return err
		}
		info.Built, number = true, rec.number
		seq := rec.seq
		// A ready interactive index has everything, whatever sequence its build ended at.
		if rec.ready || !seq.Before(last) {
			seq = last
		}
		if info.Committed, err = s.Number(seq); err != nil {
			return err
		}
		k := sp.keysOf(rec.number)
		values, err := s.KV().GetMany([][]byte{
			k.key(keyManifest), k.count(countDocs), k.count(countErrors), k.count(countLogBytes),
		})
		if err != nil {
			return err
		}
		m, err := parseManifest(values[0])
		if err != nil {
			return err
		}
		info.Docs, info.Errors = keyspace.Counter(values[1]), keyspace.Counter(values[2])
		info.Bytes = keyspace.Counter(values[3])
		for _, s := range m.segments {
			info.Deleted += s.killed
			info.Bytes += s.bytes
		}
		return nil
	})
	if err == nil && info.Built && x.opts.Jobs != nil {
		var paused []jobs.Job
		paused, err = x.opts.Jobs.PausedOf(ctx, db.Name())
		for i := range paused {
			switch job := &paused[i]; {
			case job.Type == buildJob && job.ID == buildID(db.Name(), def):
				info.Paused = job.Error
			case job.Type == mergeJob && job.ID == mergeID(db.Name(), number):
				info.MergesPaused = job.Error
			}
		}
	}
	return info, err
}

// Error is a document that could not be indexed.
type Error struct {
	ID, Message string
	// Thrown says that the index function threw it; else the document does not fit the index.
	Thrown bool
}

// Errors calls fn for the documents that could not be indexed, in the order of their ids from one
// on. The index is taken as it is.
func (x *Indexes) Errors(
	ctx context.Context, db *storage.DB, def *Definition, from string, fn func(Error) error,
) error {
	after := ""
	return db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		sp := spaceOf(s)
		rec, _, err := readRecord(s.KV(), sp, def.signature)
		if err != nil || rec == nil {
			return err
		}
		return sp.keysOf(rec.number).errors(s.KV(), from, after, func(e Error) error {
			if err := fn(e); err != nil {
				return err
			}
			after = e.ID
			return nil
		})
	})
}

// errors reads errors from an id on, and after another one.
func (k *keys) errors(r kv.ReadTx, from, after string, fn func(Error) error) error {
	prefix := k.key(keyError)
	begin, end := children(prefix)
	if from != "" {
		begin = k.error(from)
	}
	if after != "" {
		begin = kv.AppendKeyAfter(nil, k.error(after))
	}
	it := r.Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		id, _, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil || len(it.Value()) == 0 {
			return corrupt("error of a document")
		}
		if err := fn(Error{id, string(it.Value()[1:]), it.Value()[0] == 1}); err != nil {
			return err
		}
	}
	return it.Err()
}

// Cleanup removes the indexes that no design document defines any more, each in a transaction of
// its own. It may use the reserve of a full store, since it frees space.
func (x *Indexes) Cleanup(ctx context.Context, db *storage.DB) error {
	wanted, err := x.wanted(ctx, db)
	if err != nil {
		return err
	}
	var there map[signature]int64
	if err := db.ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
		there, err = readNumbers(s.KV(), spaceOf(s))
		return err
	}); err != nil {
		return err
	}
	// An index is named by its signature, so that a renamed one is still wanted.
	for of := range there {
		if wanted[of] {
			continue
		}
		if err := db.Transact(kv.UseReserve(ctx), func(tx *storage.Tx) error {
			sp := spaceOf(tx.Snapshot())
			rec, _, err := readRecord(tx.KV(), sp, of)
			if err != nil || rec == nil {
				return err
			}
			if rec.interactive() {
				if err := release(tx, sp, of); err != nil {
					return err
				}
			}
			tx.KV().ClearRange(children(sp.keysOf(rec.number).prefix))
			tx.KV().Clear(sp.record(of))
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the indexes of all design documents.
func (x *Indexes) wanted(ctx context.Context, db *storage.DB) (map[signature]bool, error) {
	wanted := map[signature]bool{}
	partitioned, err := db.Settings().Partitioned(ctx)
	if err != nil {
		return nil, err
	}
	o := storage.RangeOptions{Limit: -1, Namespace: storage.NamespaceDesign, IncludeDocs: true}
	err = db.AllDocs(ctx, o, nil, func(row *storage.ListRow) error {
		if err := storage.HoldParsed(ctx, db, row.Doc.Body); err != nil {
			return err
		}
		body, err := ejson.Parse(row.Doc.Body)
		if err != nil {
			return corrupt("design document")
		}
		for _, def := range x.opts.definitions(body, row.ID, partitioned) {
			wanted[def.signature] = true
		}
		return nil
	})
	return wanted, err
}

// definitions are all indexes of a design document that can be built.
func (o *Options) definitions(body ejson.Value, ddoc string, partitioned bool) (all []*Definition) {
	for _, kind := range []segment.Kind{segment.Clouseau, segment.Nouveau} {
		members, _ := body.Get(member(kind))
		if members.Kind() != ejson.Object {
			continue
		}
		for name := range members.Members() {
			if def, err := o.newDefinition(body, kind, ddoc, name.Text(), partitioned); err == nil {
				all = append(all, def)
			}
		}
	}
	return all
}

// InDesign are the indexes that a design document, whose body it is, has and that can be built.
func (x *Indexes) InDesign(ctx context.Context, db *storage.DB, ddoc string, body ejson.Value) ([]*Definition, error) {
	partitioned, err := db.Settings().Partitioned(ctx)
	return x.opts.definitions(body, ddoc, partitioned), err
}

// Behind reports whether an index has not reached the end of the feed.
func (x *Indexes) Behind(ctx context.Context, db *storage.DB, def *Definition) (behind bool, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		last, err := s.LastSeq()
		if err != nil {
			return err
		}
		rec, _, err := readRecord(s.KV(), spaceOf(s), def.signature)
		behind = rec == nil || !rec.ready && (rec.interactive() || rec.seq.Before(last))
		return err
	})
	return behind, err
}

func readSignature(key []byte) (of signature, err error) {
	text, _, err := tuple.ReadBytes(key)
	if err != nil || len(text) != len(of) {
		return of, corrupt("key of an index")
	}
	return signature(text), nil
}
