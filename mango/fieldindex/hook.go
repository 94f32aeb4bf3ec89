package fieldindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

const designPrefix = "_design/"

// Indexes keeps the indexes of all databases. It is a storage.Indexer. Its methods are safe for concurrent use.
type Indexes struct {
	store *storage.Store
	jobs  *jobs.Queue
	split func(field string) ([]string, bool)
	known *lru.Cache[string, *registry] // by their stored form
	work  sync.Pool                     // *change
}

// Options are what Indexes works with.
type Options struct {
	Store *storage.Store
	Jobs  *jobs.Queue // builds indexes that are added to databases with documents
	// Split gives the parts of a field name as selectors write it; false if it is none.
	Split func(field string) ([]string, bool)
}

// New makes Indexes and begins to run the builds that the queue holds.
func New(o Options) (*Indexes, error) {
	known, err := lru.New[string, *registry](256)
	if err != nil {
		return nil, err
	}
	x := &Indexes{store: o.Store, jobs: o.Jobs, split: o.Split, known: known}
	x.work.New = func() any { return new(change) }
	return x, x.handleBuilds()
}

// Prepare reads the registry, so that whoever changes it conflicts with all writers of documents; storage.Indexer.
func (x *Indexes) Prepare(_ context.Context, tx *storage.Tx) (storage.IndexFunc, error) {
	stored, err := tx.KV().Get(placeOf(tx).registry())
	if err != nil {
		return nil, err
	}
	reg, err := x.registry(stored)
	if err != nil {
		return nil, err
	}
	for i := range reg.indexes {
		if !reg.indexes[i].current() {
			if reg, err = x.upgrade(tx, reg); err != nil {
				return nil, err
			}
			break
		}
	}
	return func(_ context.Context, tx *storage.Tx, id string, before, after *storage.Document) error {
		if strings.HasPrefix(id, designPrefix) {
			var err error
			reg, err = x.designChanged(tx, reg, id, after)
			return err
		}
		if len(reg.indexes) == 0 {
			return nil
		}
		c := x.work.Get().(*change)
		defer x.work.Put(c)
		return c.write(tx, reg, id, before, after)
	}, nil
}

// registry decodes with a memory: there are few different ones.
func (x *Indexes) registry(stored []byte) (*registry, error) {
	if reg, ok := x.known.Get(string(stored)); ok {
		return reg, nil
	}
	reg, err := parseRegistry(stored)
	if err == nil {
		x.known.Add(string(stored), reg)
	}
	return reg, err
}

// designChanged brings the registry up to date with a design document. The registry given is shared and stays as it is.
func (x *Indexes) designChanged(tx *storage.Tx, reg *registry, id string, after *storage.Document) (*registry, error) {
	var now []Definition
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
	next := &registry{next: reg.next, indexes: append([]registered(nil), reg.indexes...)}
	return next, x.put(tx, next, next.upgrade())
}

// put writes a registry that changed, drops the rows of indexes that are gone, and queues the build of those that are new.
func (x *Indexes) put(tx *storage.Tx, reg *registry, gone []uint64) error {
	p := placeOf(tx)
	tx.KV().Set(p.registry(), reg.append(nil))
	for _, number := range gone {
		base := p.index(number)
		tx.KV().ClearRange(base, append(base[:len(base):len(base)], 0xff))
	}
	for i := range reg.indexes {
		if !reg.indexes[i].ready {
			return x.queueBuild(tx)
		}
	}
	return nil
}

// change is the memory of one document's change.
type change struct {
	before, after entries
	deltas        map[string]int64
	key, value    []byte
}

// write brings all indexes up to date with one document.
func (c *change) write(tx *storage.Tx, reg *registry, id string, before, after *storage.Document) error {
	for i := range reg.indexes {
		ix := &reg.indexes[i]
		if !ix.ready {
			if built, err := passed(tx, ix.number, id); err != nil {
				return err
			} else if !built {
				continue
			}
		}
		if err := c.diff(tx, ix, id, before, after); err != nil {
			return err
		}
	}
	return nil
}

// diff writes the entries that only one of the two bodies has.
func (c *change) diff(tx *storage.Tx, ix *registered, id string, before, after *storage.Document) error {
	old, err := c.before.read(ix, before)
	if err != nil {
		return err
	}
	now, err := c.after.read(ix, after)
	if err != nil {
		return err
	}
	if c.deltas == nil {
		c.deltas = make(map[string]int64)
	}
	clear(c.deltas)
	p := placeOf(tx)
	rows := p.sub(ix.number, keyRows)
	height := sampleHeight(id)
	var total, size int64
	for len(old) > 0 || len(now) > 0 {
		order := compareFirst(old, now)
		if order == 0 { // cut values with one beginning are one entry
			old, now = old[1:], now[1:]
			continue
		}
		e, sign := entry{}, int64(1)
		if order < 0 {
			e, sign, old = old[0], -1, old[1:]
		} else {
			e, now = now[0], now[1:]
		}
		c.key = kv.AppendString(append(append(c.key[:0], rows...), e.key...), id)
		c.value = rowValue(c.value[:0], e.value, e.cut)
		if sign > 0 {
			tx.KV().Set(c.key, c.value)
		} else {
			tx.KV().Clear(c.key)
		}
		p.setSamples(tx.KV(), ix.number, height, c.key[len(rows):], c.value, sign < 0)
		total += sign
		size += sign * int64(len(c.key)-len(rows)+len(c.value))
		c.value = e.countKey(c.value[:0])
		c.deltas[string(c.value)] += sign
	}
	counts := p.sub(ix.number, keyCounts)
	for suffix, delta := range c.deltas {
		add(tx.KV(), append(append(c.key[:0], counts...), suffix...), delta)
	}
	add(tx.KV(), p.total(ix.number, totalEntries), total)
	add(tx.KV(), p.total(ix.number, totalBytes), size)
	return nil
}

func (s *entries) read(ix *registered, doc *storage.Document) ([]entry, error) {
	if doc == nil {
		return nil, nil
	}
	parser := ejson.AcquireParser()
	defer parser.Release()
	body, err := parser.Parse(doc.Body)
	if err != nil {
		return nil, err
	}
	s.exclude = ix.exclude
	return s.of(body, doc.ID), nil
}

func compareFirst(a, b []entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return bytes.Compare(a[0].key, b[0].key)
}

func add(tx kv.Tx, key []byte, delta int64) {
	if delta == 0 {
		return
	}
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(delta))
	tx.Atomic(kv.Add, key, buf[:])
}
