package allfields

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// designPrefix begins the ids of design documents, afterDesigns comes after them.
const (
	designPrefix = "_design/"
	afterDesigns = "_design0"
)

const (
	// keptRegistries is how many bytes of registries are kept as they were read, or the last one if
	// that is larger.
	keptRegistries = 16 << 20
	// registryBytes is about how many bytes one takes, besides ten for each that it has as it is
	// stored: paths of one letter, with their keys.
	registryBytes = 500
)

// Indexes keeps the indexes of all databases. It is a storage.Indexer. Its methods are safe for
// concurrent use.
type Indexes struct {
	store *storage.Store
	jobs  *jobs.Queue
	split func(field string) ([]string, bool)
	// Registries by their stored form: most databases have one of few.
	known *cache.Cache[string, *registry]
	work  sync.Pool // *change
	log   *slog.Logger
	batch func() int
	// transaction is the store's limit of the size of a transaction, 0: none.
	transaction int
}

// Options are the parts that Indexes works with.
type Options struct {
	Store *storage.Store
	Jobs  *jobs.Queue // builds indexes that are added to databases with documents
	// Split gives the parts of a field name as selectors write it; false if it is not valid.
	Split func(field string) ([]string, bool)
	// Limits are those of the store.
	Limits kv.Limits
	// Batch is the greatest number of documents that one transaction of a build takes; nil or below
	// 1: DefaultBatch. It may change at any time.
	Batch func() int
	Log   *slog.Logger // nil: no log
}

// New makes Indexes and begins to run the builds that the queue holds.
func New(o Options) (*Indexes, error) {
	x := &Indexes{
		store:       o.Store,
		jobs:        o.Jobs,
		split:       o.Split,
		known:       newKnown(),
		log:         o.Log,
		batch:       o.Batch,
		transaction: o.Limits.TransactionSize,
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.work.New = func() any { return new(change) }
	return x, x.handleBuilds()
}

func newKnown() *cache.Cache[string, *registry] {
	return cache.NewSized(keptRegistries, func(stored string, _ *registry) int {
		return registryBytes + 10*len(stored)
	})
}

// Prepare reads the registry, so that whoever changes it conflicts with all writers of documents;
// storage.Indexer.
func (x *Indexes) Prepare(_ context.Context, tx *storage.Tx) (storage.IndexFunc, error) {
	stored, err := tx.Head().Get(spaceOf(tx.Snapshot()).registry())
	if err != nil {
		return nil, err
	}
	reg, err := x.registry(stored)
	if err != nil {
		return nil, err
	}
	// The first writer after an update of the program has old indexes built anew.
	if !reg.current() {
		if reg, err = x.upgrade(tx, reg); err != nil {
			return nil, err
		}
	}
	if len(reg.indexes) == 0 && !tx.ChangesDesigns() {
		return nil, nil
	}
	u := &update{x: x, reg: reg}
	return u.add, nil
}

// AppendHead implements storage.HeadIndexer.
func (x *Indexes) AppendHead(keys [][]byte, tx *storage.Tx) [][]byte {
	return append(keys, spaceOf(tx.Snapshot()).registry())
}

// registryIn reads the registry of a database.
func (x *Indexes) registryIn(s *storage.Snapshot) (*registry, error) {
	stored, err := s.KV().Get(spaceOf(s).registry())
	if err != nil {
		return nil, err
	}
	return x.registry(stored)
}

// registry decodes with a memory: there are few different ones.
func (x *Indexes) registry(stored []byte) (*registry, error) {
	return x.known.Load(string(stored), func() (*registry, error) { return parseRegistry(stored) })
}

// designChanged brings the registry up to date with a design document. The registry given is shared
// and stays as it is.
func (x *Indexes) designChanged(tx *storage.Tx, reg *registry, id string, after *docread.Document) (*registry, error) {
	var now []Definition
	// Looking for the name spares most design documents the parsing.
	if after != nil && bytes.Contains(after.Body, []byte(`"`+Member+`"`)) {
		body, err := ejson.Parse(after.Body)
		if err != nil {
			return nil, err
		}
		now = ParseDefinitions(id, body, x.split)
	}
	next := &registry{next: reg.next, indexes: reg.indexes}
	gone, changed := next.replace(id, now)
	if !changed {
		return reg, nil
	}
	return next, x.put(tx, next, gone)
}

func (x *Indexes) upgrade(tx *storage.Tx, reg *registry) (*registry, error) {
	next, gone := reg.upgraded()
	return next, x.put(tx, next, gone)
}

// put writes a registry that changed, which is the caller's, drops the rows of indexes that are
// gone, and queues the build of those that are new. In a database without documents there is
// nothing to build.
func (x *Indexes) put(tx *storage.Tx, reg *registry, gone []uint64) error {
	sp := spaceOf(tx)
	if !reg.ready() {
		empty, err := isEmpty(tx.Snapshot())
		if err != nil {
			return err
		}
		for i := range reg.indexes {
			reg.indexes[i].ready = reg.indexes[i].ready || empty
		}
	}
	tx.KV().Set(sp.registry(), reg.append(nil))
	for _, number := range gone {
		base := sp.index(number)
		tx.KV().ClearRange(base, append(base[:len(base):len(base)], 0xff))
	}
	if !reg.ready() {
		return x.queueBuild(tx)
	}
	return nil
}

// isEmpty reports whether a database has no documents but design documents.
func isEmpty(s *storage.Snapshot) (bool, error) {
	empty := true
	for _, o := range []storage.RangeOptions{
		{Limit: 1, End: storage.Bound{ID: designPrefix, Set: true, Exclusive: true}},
		{Limit: 1, Start: storage.Bound{ID: afterDesigns, Set: true}},
	} {
		if err := s.AllDocs(o, func(*storage.ListRow) error { empty = false; return nil }); err != nil {
			return false, err
		}
	}
	return empty, nil
}
