package search

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// claim is the right of one process to write a segment of an index. An index has two, one for
// flushes and one for merges. Every transaction that writes blocks verifies it, so that of two
// processes only one goes on.
type claim struct {
	x    *Indexes
	db   *storage.DB
	keys *keys
	of   int64
	// Sixteen random bytes: whoever finds other ones in the store has lost the claim.
	token   []byte
	segment int64 // the number of the segment that is written
	docs    int64 // written
	bytes   int64 // of its blocks, those that are pending included
	pending []pendingBlock
	// Bytes that pending takes in a transaction, with blockBytes for each.
	size int
}

// blockBytes is about how many bytes a block takes in a transaction besides its value: fields of
// one word each have many blocks of a few bytes.
const blockBytes = 200

const (
	claimFlush int64 = iota
	claimMerge
	// claimPlace is no claim: it holds the commit after which a segment numbers its documents.
	claimPlace
)

// defaultClaimTime is how long a claim holds without a sign of life.
const defaultClaimTime = 30 * time.Second

// errClaimed is the error if another process works on the index, or has taken the work over.
var errClaimed = errors.New("search: another process writes the segment")

type pendingBlock struct {
	key   segment.BlockKey
	value []byte
}

// value of a claim: the token, when there was the last sign of life, the number of the segment.
func (c *claim) value() []byte {
	b := binary.BigEndian.AppendUint64(bytes.Clone(c.token), uint64(time.Now().UnixMilli()))
	return binary.BigEndian.AppendUint64(b, uint64(c.segment))
}

const claimToken = 16

func claimedSegment(value []byte) int64 { return int64(binary.BigEndian.Uint64(value[claimToken+8:])) }

// take takes a claim, with a new number for the segment, and removes what a dead process has left
// of its own. The error is errClaimed while another process holds it and gives signs of life.
func (x *Indexes) take(
	ctx context.Context, db *storage.DB, recordKey []byte, k *keys, of int64,
) (*claim, error) {
	c := &claim{x: x, db: db, keys: k, of: of, token: make([]byte, claimToken)}
	if _, err := rand.Read(c.token); err != nil {
		return nil, err
	}
	err := db.Transact(ctx, func(tx *storage.Tx) error {
		values, err := tx.KV().GetMany([][]byte{k.claim(of), k.key(keyManifest), recordKey})
		if err != nil {
			return err
		}
		m, err := parseManifest(values[1])
		if err != nil {
			return err
		}
		if values[2] == nil {
			return errMoved // the index is gone, and nothing is to be left of it
		}
		if old := values[0]; old != nil {
			if len(old) != claimToken+16 {
				return corrupt("claim of an index")
			}
			seen := time.UnixMilli(int64(binary.BigEndian.Uint64(old[claimToken:])))
			// Clocks of processes may differ, so that a sign of life from far in the future counts
			// as old, too. The token is this call's own where an earlier try was committed without
			// an answer.
			if !x.opts.alone(of) && time.Since(seen).Abs() < x.opts.claimTime &&
				!bytes.Equal(old[:claimToken], c.token) {
				return errClaimed
			}
			// Blocks of a segment that the manifest does not name are what a dead process has left.
			if left := claimedSegment(old); m.find(left) < 0 {
				tx.KV().ClearRange(children(k.segment(left)))
			}
		}
		// The number is used up even if the segment is never published.
		m.next++
		c.segment = m.next
		tx.KV().Set(k.key(keyManifest), m.encode())
		tx.KV().Set(k.claim(of), c.value())
		return nil
	})
	return c, err
}

// alone reports whether nobody else can be using a claim: a job that merges is the only writer.
func (o *Options) alone(of int64) bool { return of == claimMerge && o.Jobs != nil }

// put takes a block; it is index.Encode's. Blocks are written many in a transaction.
func (c *claim) put(ctx context.Context) func(segment.BlockKey, []byte) error {
	return func(key segment.BlockKey, value []byte) error {
		c.pending = append(c.pending, pendingBlock{key, value})
		c.bytes += int64(len(value))
		if c.size += len(value) + blockBytes; c.size < c.x.opts.transactionBudget()/2 {
			return nil
		}
		return c.write(ctx)
	}
}

// write writes the blocks that are pending.
func (c *claim) write(ctx context.Context) error {
	err := c.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := c.check(tx); err != nil {
			return err
		}
		// Each transaction is a sign of life.
		tx.KV().Set(c.keys.claim(c.of), c.value())
		for _, b := range c.pending {
			kv.SetOwned(tx.KV(), c.keys.block(c.segment, b.key), b.value)
		}
		return nil
	})
	c.pending, c.size = nil, 0
	return err
}

// check verifies in a transaction that the claim is still this process's; the error is errClaimed.
func (c *claim) check(tx *storage.Tx) error {
	value, err := tx.KV().Get(c.keys.claim(c.of))
	if err == nil && (len(value) < claimToken || !bytes.Equal(value[:claimToken], c.token)) {
		err = errClaimed
	}
	return err
}

// drop ends a claim whose segment was not published.
func (c *claim) drop() {
	// What failed may have been the caller's context; what stays is removed by the next one that
	// claims.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = c.db.Transact(ctx, func(tx *storage.Tx) error {
		if err := c.check(tx); err != nil {
			return err
		}
		tx.KV().ClearRange(children(c.keys.segment(c.segment)))
		tx.KV().Clear(c.keys.claim(c.of))
		return nil
	})
}
