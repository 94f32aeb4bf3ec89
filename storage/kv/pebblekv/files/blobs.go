package files

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// blobFiles reads the values that tables only refer to, because Pebble has stored them in blob files.
type blobFiles struct {
	fs    vfs.FS
	dir   string
	files map[uint64]uint64 // file numbers of blob file ids
	open  []*blobFile       // the one that was read last is the first
}

// maxOpenBlobs bounds how many blob files are kept open: rows of neighbouring keys may have their
// values in several.
const maxOpenBlobs = 5

// value reads the value of a row that has only its place.
func (f *blobFiles) value(r *row) (value []byte, err error) {
	defer recovered(&err)
	if len(r.value) < 2 {
		return nil, errors.New("malformed place of a value")
	}
	// The decoder trusts what it reads: it may go beyond a short place.
	place := append(r.value[1:len(r.value):len(r.value)], make([]byte, 16)...)
	preface, rest := blob.DecodeInlineHandlePreface(place)
	if int(preface.ReferenceID) >= len(r.blobs) {
		return nil, errors.New("no manifest tells which file has the value")
	}
	id := r.blobs[preface.ReferenceID]
	number, ok := f.files[id]
	if !ok {
		return nil, fmt.Errorf("no manifest tells which file blob file %d is", id)
	}
	value, err = f.valueIn(number, blob.DecodeHandleSuffix(rest))
	if err == nil && len(value) != int(preface.ValueLen) {
		err = fmt.Errorf("the value has %d bytes, not %d", len(value), preface.ValueLen)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", blobName(number), err)
	}
	return value, nil
}

// valueIn reads a value of a file, which it opens if it is not open.
func (f *blobFiles) valueIn(number uint64, at blob.HandleSuffix) ([]byte, error) {
	i := slices.IndexFunc(f.open, func(b *blobFile) bool { return b.number == number })
	if i < 0 {
		b, err := openBlob(f.fs, f.fs.PathJoin(f.dir, blobName(number)))
		if err != nil {
			return nil, err
		}
		if err := b.readIndex(); err != nil {
			return nil, closing(b.file, err)
		}
		if len(f.open) == maxOpenBlobs {
			_ = f.open[maxOpenBlobs-1].file.Close() // was only read
			f.open = f.open[:maxOpenBlobs-1]
		}
		i, f.open = len(f.open), append(f.open, b)
	}
	b := f.open[i]
	copy(f.open[1:i+1], f.open[:i])
	f.open[0] = b
	return b.value(at)
}

func (f *blobFiles) close() {
	for _, b := range f.open {
		_ = b.file.Close() // was only read
	}
	f.open = nil
}

// blobFile reads the values of one file. Pebble's own reader takes memory for any length that a
// place or an index names, and does not look whether the file has so many blocks or values: the
// place may be of another file, if what tells which file it is of is damaged.
type blobFile struct {
	blockFile
	number uint64 // that it was written with
	index  block.Handle

	// Of the index: where each block begins and, after the last one, where that ends. Only a file
	// that was written anew has remapped: of each block of the file before it which block has its
	// values now, and above the lowest 32 bits which number its first value has there.
	offsets, remapped          colblk.UnsafeUints
	blockCount, remappedBlocks int

	// The block that was read last.
	held       int // -1 if none was
	values     colblk.RawBytes
	valueCount int
}

// footerNumberAt is where, from its end, a blob file has the number that it was written with.
const footerNumberAt = 16

// openBlob opens a file of separated values by itself, without the store that it belongs to, and
// looks where its index is. A file that was written with another number is refused: it has other
// values, which may be as long as those that are looked for.
func openBlob(fsys vfs.FS, path string) (*blobFile, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, closing(file, err)
	}
	b := &blobFile{blockFile: blockFile{file: file, size: readable.Size()}, held: -1}
	r, err := blob.NewFileReader(context.Background(), readable,
		blob.FileReaderOptions{ReaderOptions: options().MakeReaderOptions().ReaderOptions})
	if err != nil {
		return nil, closing(file, err)
	}
	b.index = r.IndexHandle()
	if err := b.has(b.index); err != nil {
		return nil, closing(file, fmt.Errorf("%w: its index: %w", pebble.ErrCorruption, err))
	}
	var written [8]byte // the reader checked the footer
	if _, err := file.ReadAt(written[:], b.size-footerNumberAt); err != nil {
		return nil, closing(file, err)
	}
	b.number = binary.LittleEndian.Uint64(written[:])
	if name := blobName(b.number); name != fsys.PathBase(path) {
		return nil, closing(file, fmt.Errorf("%w: it was written as %s", pebble.ErrCorruption, name))
	}
	return b, nil
}

// Where the columns of an index block are.
const (
	indexHeader    = 4 // the number of remapped blocks
	remappedColumn = 0
	offsetsColumn  = 1
)

// readIndex reads where blocks begin. Pebble's decoder trusts what it reads, so that damage shows
// as a panic, which recovered turns into an error.
func (b *blobFile) readIndex() (err error) {
	defer recovered(&err)
	data, err := b.block(b.index)
	if err != nil {
		return err
	}
	b.remappedBlocks = int(binary.LittleEndian.Uint32(data))
	d := colblk.DecodeBlock(data, indexHeader)
	b.remapped = colblk.DecodeColumn(&d, remappedColumn, b.remappedBlocks, colblk.DataTypeUint,
		colblk.DecodeUnsafeUints)
	b.blockCount = d.Rows()
	b.offsets = colblk.DecodeColumn(&d, offsetsColumn, b.blockCount+1, colblk.DataTypeUint,
		colblk.DecodeUnsafeUints)
	return nil
}

// value gives a copy of a value.
func (b *blobFile) value(at blob.HandleSuffix) ([]byte, error) {
	i, n := int(at.BlockID), int(at.ValueID)
	if b.remappedBlocks > 0 {
		if i >= b.remappedBlocks {
			return nil, fmt.Errorf("block %d of %d", i, b.remappedBlocks)
		}
		to := b.remapped.At(i)
		i, n = int(uint32(to)), n+int(to>>32)
	}
	if err := b.hold(i); err != nil {
		return nil, err
	}
	if n >= b.valueCount {
		return nil, fmt.Errorf("value %d of %d in block %d", n, b.valueCount, i)
	}
	return append([]byte{}, b.values.At(n)...), nil
}

// hold reads a block, unless it was the last one, too.
func (b *blobFile) hold(i int) error {
	if i == b.held {
		return nil
	}
	if i >= b.blockCount {
		return fmt.Errorf("block %d of %d", i, b.blockCount)
	}
	start, end := b.offsets.At(i), b.offsets.At(i+1)
	data, err := b.block(block.Handle{Offset: start, Length: end - start - block.TrailerLen})
	if err != nil {
		return err
	}
	b.held = -1 // decoding may panic
	d := colblk.DecodeBlock(data, 0)
	b.values, b.valueCount, b.held = d.RawBytes(0), d.Rows(), i
	return nil
}

func blobName(number uint64) string  { return fmt.Sprintf("%06d.blob", number) }
func tableName(number uint64) string { return fmt.Sprintf("%06d.sst", number) }
func logName(number uint64) string   { return fmt.Sprintf("%06d.log", number) }

// CheckBlob tells why what a blob file has cannot be found: its footer or where that says the index
// is, or the file is another one than its name says. It is nil if the file cannot be opened or read
// at all.
func CheckBlob(fsys vfs.FS, path string) (err error) {
	defer recovered(&err)
	b, err := openBlob(fsys, path)
	if err != nil {
		if pebble.IsCorruptionError(err) {
			return err
		}
		return nil // the opening meets it again
	}
	return b.file.Close()
}
