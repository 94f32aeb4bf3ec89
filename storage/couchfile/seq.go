package couchfile

import (
	"encoding/base64"
	"strings"
)

// ShardSeq is what a sequence of a clustered database says of one shard.
type ShardSeq struct {
	Low, High uint32
	Seq       int64
	UUID      string // the first 7 characters of the shard's
	Node      string // that has written the shard up to there; "" in old sequences
}

// ParseSeq reads an opaque sequence of CouchDB since 2.0, N-TEXT: base64 of a compressed term
// [{Node, [Low, High], {Seq, UUID, Node}}] (fabric_view_changes:pack_seqs/1). ok is false for any
// other text.
func ParseSeq(text string) (shards []ShardSeq, ok bool) {
	_, packed, found := strings.Cut(text, "-")
	if !found {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(packed, "="))
	if err != nil || len(raw) > maxRecord {
		return nil, false
	}
	c := newCursor(raw)
	n := c.list()
	for range n {
		var s ShardSeq
		if c.tuple() != 3 {
			return nil, false
		}
		c.skip() // the node
		if c.list() != 2 {
			return nil, false
		}
		s.Low, s.High = uint32(c.integer()), uint32(c.integer())
		c.endList(2)
		if tag := c.peek(); tag == tagSmallTuple {
			arity := c.tuple()
			if arity < 2 {
				return nil, false
			}
			s.Seq, s.UUID = c.integer(), string(c.binary())
			if arity > 2 {
				s.Node = c.atom()
			}
		} else {
			s.Seq = c.integer()
		}
		if c.err != nil {
			return nil, false
		}
		shards = append(shards, s)
	}
	c.endList(n)
	return shards, c.err == nil && n > 0
}

// Gave reports whether a sequence of a shard is one of this file: it has the file's uuid, and the
// node in it is the one that wrote the file at that sequence. Otherwise the two are copies that
// have gone their own ways since (fabric_rpc:calculate_start_seq/3, couch_db:owner_of/2).
func (f *File) Gave(s ShardSeq) bool {
	if s.UUID == "" || !strings.HasPrefix(f.header.uuid, s.UUID) {
		return false
	}
	for _, e := range f.header.epochs {
		if s.Seq >= e.from {
			return s.Node == e.node
		}
	}
	return false
}
