package search

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// blockCache keeps blocks of segments, which never change, for all indexes. A number of a segment
// is never given twice.
type blockCache = cache.Cache[cachedBlock, []byte]

type cachedBlock struct {
	database [16]byte
	number   int64 // of the index
	segment  int64
	key      segment.BlockKey
}

// largestBlock is the size of most blocks in bytes.
const largestBlock = 32 << 10

// newBlockCache makes a cache of at most so many bytes.
func newBlockCache(bytes int) *blockCache {
	return cache.New[cachedBlock, []byte](bytes / largestBlock)
}

// segmentBlocks reads the blocks of a segment.
type segmentBlocks struct {
	cache    *blockCache
	frequent *frequentCache
	id       cachedBlock // but for the key
	keys     *keys
	get      func(key []byte) ([]byte, error)
}

var errNoBlock = errors.New("search: a block of a segment is missing")

// ReadBlock implements index.Blocks.
func (b *segmentBlocks) ReadBlock(key segment.BlockKey) ([]byte, error) {
	id := b.id
	id.key = key
	return b.cache.Load(id, func() ([]byte, error) {
		value, err := b.get(b.keys.block(b.id.segment, key))
		if err == nil && value == nil {
			err = errNoBlock
		}
		return bytes.Clone(value), err
	})
}

// blocksIn are the blocks of a segment in a snapshot.
func (x *Indexes) blocksIn(s *storage.Snapshot, k *keys, number, segment int64) *segmentBlocks {
	id := cachedBlock{database: s.UUID(), number: number, segment: segment}
	return &segmentBlocks{x.blocks, x.frequent, id, k, s.KV().Get}
}

// blocksOver are the blocks of a segment for work that outlives a snapshot: each is read in one of
// its own. They are there as long as the manifest names the segment.
func (x *Indexes) blocksOver(
	ctx context.Context, db *storage.DB, uuid [16]byte, k *keys, number, segment int64,
) *segmentBlocks {
	get := func(key []byte) (value []byte, err error) {
		err = x.opts.KV.View(ctx, func(r kv.ReadTx) error {
			value, err = r.Get(key)
			value = bytes.Clone(value)
			return err
		})
		return value, err
	}
	return &segmentBlocks{x.blocks, x.frequent,
		cachedBlock{database: uuid, number: number, segment: segment}, k, get}
}

// readLive reads the set of documents of a segment that are alive; nil: all are.
func (k *keys) readLive(r kv.ReadTx, s *segmentInfo) (*segment.Bitmap, error) {
	if s.live == 0 {
		return nil, nil
	}
	begin, end := children(k.live(s.id, s.live))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var b []byte
	for it.Next() {
		b = append(b, it.Value()...)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	live, ok := segment.ReadBitmap(b, int32(s.docs))
	if !ok {
		return nil, corrupt("set of documents that are alive")
	}
	return live, nil
}

// writeLive writes such a set as the next version, and removes the one before.
func (k *keys) writeLive(tx kv.Tx, s *segmentInfo, live *segment.Bitmap) {
	if s.live > 0 {
		tx.ClearRange(children(k.live(s.id, s.live)))
	}
	s.live++
	s.killed = s.docs - int64(live.Count())
	key := k.live(s.id, s.live)
	for piece, b := 0, live.AppendTo(nil); len(b) > 0; piece++ {
		part := b[:min(len(b), maxValue)]
		b = b[len(part):]
		tx.Set(tuple.AppendInt(key[:len(key):len(key)], int64(piece)), part)
	}
}
