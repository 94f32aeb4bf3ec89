package txn

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// stampedKeys holds the versionstamped keys of a transaction, grouped by what precedes the
// versionstamp: a transaction that writes thousands of them has only a few such prefixes.
type stampedKeys struct {
	groups []stampedGroup
}

type stampedGroup struct {
	span KeyRange // all keys that begin with the prefix; no End when there is no key after them
	keys []StampedKey
}

// StampedKey is a key whose 10 bytes at Offset wait for the commit.
type StampedKey struct {
	// The key with ten zeros at Offset, which the commit replaces.
	Key    []byte
	Offset int
	Value  []byte
	Clears []KeyRange // later range clears, in order, that may or may not meet the final key

	order uint64 // grows from write to write
}

func (s *stampedKeys) empty() bool { return len(s.groups) == 0 }

// add groups keys by what precedes the versionstamp. The final key is unknown until the commit, but
// it lies below that prefix: a read that touches the prefix is one that might have seen the key.
// Transactions have few prefixes, so they are searched one by one.
func (s *stampedKeys) add(k StampedKey) {
	prefix := k.Key[:k.Offset]
	for i := range s.groups {
		if bytes.Equal(s.groups[i].span.Begin, prefix) {
			s.groups[i].keys = append(s.groups[i].keys, k)
			return
		}
	}
	s.groups = append(s.groups, stampedGroup{
		span: KeyRange{Begin: prefix, End: kv.AppendPrefixEnd(nil, prefix)},
		keys: []StampedKey{k},
	})
}

// clearRange drops the keys that r surely covers and notes r at those that it may cover.
func (s *stampedKeys) clearRange(r KeyRange) {
	groups := s.groups[:0]
	for _, g := range s.groups {
		switch {
		case !g.overlaps(r):
		case bytes.Compare(r.Begin, g.span.Begin) <= 0 && g.span.End != nil && bytes.Compare(g.span.End, r.End) <= 0:
			continue
		default:
			for i := range g.keys {
				g.keys[i].Clears = append(g.keys[i].Clears, r)
			}
		}
		groups = append(groups, g)
	}
	s.groups = groups
}

func (g *stampedGroup) overlaps(r KeyRange) bool {
	return bytes.Compare(g.span.Begin, r.End) < 0 && (g.span.End == nil || bytes.Compare(r.Begin, g.span.End) < 0)
}

// unreadable reports whether a read of key could meet a versionstamped key.
func (s *stampedKeys) unreadable(key []byte) bool {
	for i := range s.groups {
		if bytes.HasPrefix(key, s.groups[i].span.Begin) {
			return true
		}
	}
	return false
}

// clip cuts r to the part that can be read, in the direction of the read, before a versionstamped
// key could be met, and reports whether it did cut.
func (s *stampedKeys) clip(r KeyRange, reverse bool) (KeyRange, bool) {
	cut := false
	for i := range s.groups {
		g := &s.groups[i]
		if !g.overlaps(r) {
			continue
		}
		cut = true
		if reverse {
			r.Begin = r.End
			if g.span.End != nil && bytes.Compare(g.span.End, r.End) < 0 {
				r.Begin = g.span.End
			}
		} else if bytes.Compare(g.span.Begin, r.Begin) > 0 {
			r.End = g.span.Begin
		} else {
			r.End = r.Begin
		}
	}
	return r, cut
}

// final returns the key with the versionstamp in place.
func (k *StampedKey) final(a *arena, stamp []byte) []byte {
	key := a.copy(k.Key)
	copy(key[k.Offset:k.Offset+kv.VersionstampSize], stamp)
	return key
}

// clearedLater reports whether a range clear after the write covers the final key.
func (k *StampedKey) clearedLater(final []byte) bool {
	for _, r := range k.Clears {
		if r.Contains(final) {
			return true
		}
	}
	return false
}
