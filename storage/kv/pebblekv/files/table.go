package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// row is a row of a table or a log: one version of a key.
type row struct {
	key []byte
	// Pebble's sequence number: of two rows of a key the one with the larger number counts.
	seq   uint64
	kind  pebble.InternalKeyKind
	value []byte // or, if apart, where the value is
	apart bool
	file  string
	blobs []uint64 // of the table, for a value that is apart
}

// deletion is a deleted range of keys.
type deletion struct {
	// It hides rows with start <= key < end and a lower number.
	start, end []byte
	seq        uint64
}

// table reads the rows of one table, block by block: what is wrong with a block costs that block.
type table struct {
	blockFile
	name string
	// Blocks with rows, and blocks with deletions of ranges, as the index has them.
	blocks    []block.Handle
	deletions []block.Handle
	scanned   bool  // its index is of no use: the blocks are those that were found by their checksums
	gone      int64 // bytes of it in which no block was found
}

// blockFile reads blocks of a table or a blob file.
type blockFile struct {
	file vfs.File
	size int64
}

// maxBlock bounds the length of a block before and after decompression, against lengths that are
// wrong.
const maxBlock = 1 << 30

// openTable finds the blocks of a table. The error says that nothing of it can be read.
func openTable(fs vfs.FS, path string) (t *table, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	t = &table{blockFile: blockFile{file: f}, name: fs.PathBase(path)}
	if info, err := f.Stat(); err != nil {
		return nil, closing(f, err)
	} else {
		t.size = info.Size()
	}
	if t.byIndex(fs, path) != nil {
		if err := t.scan(); err != nil {
			return nil, closing(f, err)
		}
	}
	return t, nil
}

// closing closes a file that was read and passes an error on.
func closing(c io.Closer, err error) error {
	_ = c.Close() // was only read
	return err
}

// byIndex takes the blocks from the table's index.
func (t *table) byIndex(fs vfs.FS, path string) (err error) {
	defer recovered(&err)
	f, err := fs.Open(path) // the reader closes it
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return closing(f, err)
	}
	r, err := sstable.NewReader(context.Background(), readable, options().MakeReaderOptions())
	if err != nil {
		return closing(readable, err)
	}
	defer r.Close()
	layout, err := r.Layout()
	if err != nil {
		return err
	}
	for _, b := range layout.Data {
		t.blocks = append(t.blocks, b.Handle)
	}
	if layout.RangeDel.Length > 0 {
		t.deletions = append(t.deletions, layout.RangeDel)
	}
	return nil
}

// options are what Pebble has to know to read the files of a store.
func options() *pebble.Options {
	o := &pebble.Options{Comparer: Comparer}
	o.EnsureDefaults()
	return o
}

// recovered makes an error of a panic: Pebble's readers rely on checksums, which damage may get
// past.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("malformed: %v", r)
	}
}

// has returns an error where the file cannot have such a block.
func (f *blockFile) has(h block.Handle) error {
	if h.Length > maxBlock || h.Offset > uint64(f.size) || h.Length+block.TrailerLen > uint64(f.size)-h.Offset {
		return fmt.Errorf("%d bytes at %d, of a file of %d", h.Length, h.Offset, f.size)
	}
	return nil
}

// block reads a block, checks it and decompresses it.
func (f *blockFile) block(h block.Handle) (data []byte, err error) {
	defer recovered(&err)
	if err := f.has(h); err != nil {
		return nil, err
	}
	b := make([]byte, h.Length+block.TrailerLen)
	if _, err := f.file.ReadAt(b, int64(h.Offset)); err != nil {
		return nil, err
	}
	if masked(crc32.Checksum(b[:h.Length+1], castagnoli)) != binary.LittleEndian.Uint32(b[h.Length+1:]) {
		return nil, fmt.Errorf("the checksum of %d bytes at %d is wrong", h.Length, h.Offset)
	}
	return decompressed(b[:h.Length], b[h.Length])
}

// decompressed unpacks a block. The length comes from a file that may be damaged, so it is bounded
// before memory is taken for it.
func decompressed(b []byte, how byte) ([]byte, error) {
	kind := block.CompressionIndicator(how)
	if kind == block.NoCompressionIndicator {
		return b, nil
	}
	n, err := block.DecompressedLen(kind, b)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > maxBlock {
		return nil, fmt.Errorf("a block of %d bytes", n)
	}
	out := make([]byte, n)
	return out, block.DecompressInto(kind, b, out)
}

var keySchema = colblk.DefaultKeySchema(Comparer, 16)

// Where a block's number of columns is, and what it is.
const (
	blockHeader     = 11
	columnsAt       = 5
	dataColumns     = 7
	deletionColumns = 5
)

// columns tells what a block of rows or deletions is; 0 for others.
func columns(data []byte) int {
	if len(data) < blockHeader || data[columnsAt-1] != 1 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(data[columnsAt:]))
}

// rows gives the rows of a block.
func (t *table) rows(h block.Handle, blobs []uint64) (rows []row, err error) {
	data, err := t.block(h)
	if err != nil {
		return nil, err
	}
	defer recovered(&err)
	if columns(data) != dataColumns {
		return nil, fmt.Errorf("no block of rows at %d", h.Offset)
	}
	var decoder colblk.DataBlockDecoder
	decoder.Init(&keySchema, data)
	var it colblk.DataBlockIter
	apart := newHandles(block.GetInternalValueForPrefixAndValueHandler.GetInternalValueForPrefixAndValueHandle)
	it.InitOnce(&keySchema, Comparer, apart)
	if err := it.Init(&decoder, block.NoTransforms); err != nil {
		return nil, err
	}
	for kv := it.First(); kv != nil; kv = it.Next() {
		r := row{key: bytes.Clone(kv.K.UserKey), seq: uint64(kv.K.SeqNum()), kind: kv.K.Kind(), file: t.name}
		if apart.handle != nil {
			r.value, r.apart, r.blobs = bytes.Clone(apart.handle), true, blobs
			apart.handle = nil
		} else {
			r.value = append([]byte{}, kv.InPlaceValue()...)
		}
		rows = append(rows, r)
	}
	return rows, it.Error()
}

// handles takes the place of Pebble's reader of blob files. It remembers where a value is stored and
// reads nothing. (V is a type that cannot be named outside of Pebble.)
type handles[V any] struct{ handle []byte }

func newHandles[V any](func(block.GetInternalValueForPrefixAndValueHandler, []byte) V) *handles[V] {
	return &handles[V]{}
}

// GetInternalValueForPrefixAndValueHandle implements
// block.GetInternalValueForPrefixAndValueHandler.
func (h *handles[V]) GetInternalValueForPrefixAndValueHandle(handle []byte) (v V) {
	h.handle = handle
	return v
}

// deleted gives the ranges of keys that the table deletes.
func (t *table) deleted() (all []deletion, err error) {
	for _, h := range t.deletions {
		list, err := t.deletedBy(h)
		if err != nil {
			return all, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// deletedBy reads a block of deletions of ranges. Pebble's decoder panics at damage, which
// recovered turns into an error.
func (t *table) deletedBy(h block.Handle) (all []deletion, err error) {
	data, err := t.block(h)
	if err != nil {
		return nil, err
	}
	defer recovered(&err)
	if columns(data) != deletionColumns {
		return nil, fmt.Errorf("no block of deletions at %d", h.Offset)
	}
	v := block.Alloc(len(data), nil)
	copy(v.BlockData(), data)
	handle := v.MakeHandle()
	if err := colblk.InitKeyspanBlockMetadata(handle.BlockMetadata(), handle.BlockData()); err != nil {
		handle.Release()
		return nil, err
	}
	it := colblk.NewKeyspanIter(Comparer.Compare, handle, block.NoFragmentTransforms)
	defer it.Close() // releases the block
	for span, err := it.First(); ; span, err = it.Next() {
		if err != nil || span == nil {
			return all, err
		}
		for _, k := range span.Keys {
			if k.Kind() == pebble.InternalKeyKindRangeDelete {
				all = append(all,
					deletion{start: slices.Clone(span.Start), end: slices.Clone(span.End), seq: uint64(k.SeqNum())})
			}
		}
	}
}
