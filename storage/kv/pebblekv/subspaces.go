package pebblekv

import (
	"bytes"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// subspaces finds those to which much is written in order, so that they get tables of their own. A
// subspace are the keys with the same first two integers, such as the bodies of a database. What is
// written to several of them at their ends, as with rising ids, would otherwise be in tables that
// reach from the first one to the last: each overlaps all before it, and compactions merge them
// again and again. In tables of its own what comes later lies behind what was there, and is moved
// rather than merged (docs/adr/0056).
type subspaces struct {
	own int64 // bytes from which on a subspace has tables of its own

	mu     sync.Mutex
	counts map[string]*ordered // by subspace, as stored
}

// ordered is what was written to a subspace of late.
type ordered struct {
	written, behind int64  // bytes, and those of them behind all that was in tables; see flushed
	last            []byte // the highest key written
	table           []byte // the highest one when a memtable was written last
}

const (
	// leastOwn keeps tables from becoming small where memtables are.
	leastOwn = 1 << 20
	// maxSubspaces are counted at a time: among more of them none has much.
	maxSubspaces = 256
)

// newSubspaces gives tables of their own to subspaces that have a quarter of a memtable, or, if they
// have been written to for long, an eighth.
func newSubspaces(memTable int) *subspaces {
	return &subspaces{own: max(int64(memTable)/4, leastOwn), counts: make(map[string]*ordered)}
}

// wrote counts what a batch writes.
func (s *subspaces) wrote(batch *pebble.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var subspace, first, last []byte
	var size int64
	for r := batch.Reader(); ; {
		_, key, value, ok, err := r.Next()
		if !ok || err != nil { // the batch is ours: it can be read
			break
		}
		if subspace == nil || !bytes.HasPrefix(key, subspace) {
			s.run(subspace, first, last, size)
			subspace, first, size = subspaceOf(key), key, 0
		}
		last = key
		size += int64(len(key) + len(value))
	}
	s.run(subspace, first, last, size)
}

// run counts keys of one subspace that follow each other in a batch; s.mu is held.
func (s *subspaces) run(subspace, first, last []byte, size int64) {
	if subspace == nil {
		return
	}
	o := s.counts[string(subspace)]
	if o == nil {
		if len(s.counts) == maxSubspaces {
			return
		}
		o = &ordered{}
		s.counts[string(subspace)] = o
	}
	if o.written += size; bytes.Compare(first, o.table) > 0 {
		o.behind += size
	}
	if bytes.Compare(last, o.last) > 0 {
		o.last = append(o.last[:0], last...)
	}
}

// subspaceOf is what the stored key begins with if it is in a subspace.
func subspaceOf(key []byte) []byte {
	if len(key) == 0 || key[0] != userSpace {
		return nil
	}
	_, rest, err := tuple.ReadInt(key[1:])
	if err == nil {
		_, rest, err = tuple.ReadInt(rest)
	}
	if err != nil {
		return nil
	}
	return key[:len(key)-len(rest)]
}

// flushed takes note that a memtable is a table: what was written before counts for half from now
// on.
func (s *subspaces) flushed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for subspace, o := range s.counts {
		o.written, o.behind = o.written/2, o.behind/2
		if o.table = append(o.table[:0], o.last...); o.written < s.own/16 {
			delete(s.counts, subspace)
		}
	}
}

// end is where a table that begins with a key has to end: with its subspace if that has tables of its
// own, or else before the next one that has; nil for nowhere. It is a pebble.SpanPolicyFunc.
func (s *subspaces) end(key []byte) (_ pebble.SpanPolicy, end []byte, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for subspace, o := range s.counts {
		if o.behind < s.own {
			continue
		}
		limit := []byte(subspace)
		if bytes.HasPrefix(key, limit) {
			limit = kv.AppendPrefixEnd(nil, limit)
		}
		if bytes.Compare(key, limit) < 0 && (end == nil || bytes.Compare(limit, end) < 0) {
			end = limit
		}
	}
	return leavesTogether, end, nil
}
