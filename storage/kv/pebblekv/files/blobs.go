package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// blobFiles reads values that are apart from their tables.
type blobFiles struct {
	fs      vfs.FS
	dir     string
	files   map[uint64]uint64 // file numbers of blob file ids
	fetcher *blob.ValueFetcher
}

// value reads the value of a row that has only its place.
func (f *blobFiles) value(r *row) (value []byte, err error) {
	defer func() {
		if err != nil {
			f.fetcher = nil // what it holds may be what is broken
		}
	}()
	defer recovered(&err)
	if len(r.value) < 2 {
		return nil, errors.New("malformed place of a value")
	}
	// The decoder trusts what it reads: it may go beyond a short place.
	preface, rest := blob.DecodeInlineHandlePreface(append(r.value[1:len(r.value):len(r.value)], make([]byte, 16)...))
	if int(preface.ReferenceID) >= len(r.blobs) {
		return nil, errors.New("no manifest tells which file has the value")
	}
	mapping := mappingOf(blob.FileMapping.Lookup, f.files)
	if f.fetcher == nil {
		f.fetcher, _ = sstable.LoadValBlobContext(mapping, readersOf(blob.ReaderProvider.GetValueReader, f), nil)
	}
	id := r.blobs[preface.ReferenceID]
	b, _, err := f.fetcher.FetchHandle(context.Background(), rest, mapping.id(id), preface.ValueLen, nil)
	if err != nil {
		if number, ok := f.files[id]; ok {
			err = fmt.Errorf("%s: %w", blobName(number), err)
		}
		return nil, err
	}
	return append([]byte{}, b...), nil
}

func (f *blobFiles) close() {
	if f.fetcher != nil {
		_ = f.fetcher.Close() // was only read
		f.fetcher = nil
	}
}

// open opens a blob file.
func (f *blobFiles) open(ctx context.Context, number uint64) (*blob.FileReader, error) {
	return openBlob(ctx, f.fs, f.fs.PathJoin(f.dir, blobName(number)))
}

// openBlob opens a file of separated values by itself, without the store that it belongs to. The
// reader owns the file, and closes it.
func openBlob(ctx context.Context, fsys vfs.FS, path string) (*blob.FileReader, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return nil, closing(file, err)
	}
	r, err := blob.NewFileReader(ctx, readable,
		blob.FileReaderOptions{ReaderOptions: options().MakeReaderOptions().ReaderOptions})
	if err != nil {
		return nil, closing(readable, err)
	}
	return r, nil
}

// mapping and readers are what Pebble's fetcher of values asks. B and D are Pebble's types of blob file ids and file
// numbers, which cannot be named outside of it, but inferred.
type mapping[B, D ~uint64] map[uint64]uint64

func mappingOf[B, D ~uint64](_ func(blob.FileMapping, B) (D, bool), files map[uint64]uint64) mapping[B, D] {
	return files
}

func (m mapping[B, D]) id(id uint64) B { return B(id) }

// Lookup implements blob.FileMapping.
func (m mapping[B, D]) Lookup(id B) (D, bool) {
	number, ok := m[uint64(id)]
	return D(number), ok
}

type readers[D ~uint64] struct{ files *blobFiles }

func readersOf[D ~uint64](
	_ func(blob.ReaderProvider, context.Context, D) (blob.ValueReader, func(), error),
	f *blobFiles,
) readers[D] {
	return readers[D]{f}
}

// GetValueReader implements blob.ReaderProvider.
func (r readers[D]) GetValueReader(ctx context.Context, number D) (blob.ValueReader, func(), error) {
	reader, err := r.files.open(ctx, uint64(number))
	if err != nil {
		return nil, nil, err
	}
	return reader, func() { _ = reader.Close() }, nil
}

func blobName(number uint64) string  { return fmt.Sprintf("%06d.blob", number) }
func tableName(number uint64) string { return fmt.Sprintf("%06d.sst", number) }
func logName(number uint64) string   { return fmt.Sprintf("%06d.log", number) }

// CheckBlob tells why what a blob file has cannot be found, nil if it can, or if the file cannot be opened or read at
// all.
func CheckBlob(fsys vfs.FS, path string) (err error) {
	defer recovered(&err)
	r, err := openBlob(context.Background(), fsys, path)
	if err != nil {
		if pebble.IsCorruptionError(err) {
			return err
		}
		return nil // the opening meets it again
	}
	return r.Close()
}
