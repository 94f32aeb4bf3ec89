package files

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Where a blob file's footer has what the tests change, and how long the footer is.
const (
	footerLen    = 38
	footerIndex  = 4 // offset and length of the index
	footerNumber = 22
)

// huge is a length that no machine has the memory for, and that Go tries to take all the same.
const huge = 1 << 46

// writtenBlob is a blob file with the number, and the places of the values in it.
func writtenBlob(t *testing.T, number uint64, values []string) ([]byte, []blob.HandleSuffix) {
	t.Helper()
	fsys := vfs.NewMem()
	f, err := fsys.Create("x", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	var at []blob.HandleSuffix
	w := blob.NewFileWriter(7, objstorageprovider.NewFileWritable(f), blob.FileWriterOptions{})
	for _, v := range values {
		h := w.AddValue([]byte(v))
		at = append(at, blob.HandleSuffix{BlockID: h.BlockID, ValueID: h.ValueID})
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := readFile(fsys, "x")
	if err != nil {
		t.Fatal(err)
	}
	return withFooter(b, func(footer []byte) { binary.LittleEndian.PutUint64(footer[footerNumber:], number) }), at
}

// withFooter changes the footer and corrects its checksum.
func withFooter(b []byte, change func(footer []byte)) []byte {
	b = slices.Clone(b)
	footer := b[len(b)-footerLen:]
	change(footer)
	binary.LittleEndian.PutUint32(footer, masked(crc32.Checksum(footer[4:], castagnoli)))
	return b
}

// withIndex gives the file another index, whose blocks begin and end there. remapped are those of a
// file that was written anew.
func withIndex(b []byte, offsets, remapped []uint64) []byte {
	var columns [2]colblk.UintBuilder
	size := colblk.HeaderSize(2, indexHeader)
	for i, all := range [][]uint64{remapped, offsets} {
		columns[i].Init()
		for row, v := range all {
			columns[i].Set(row, v)
		}
		size = columns[i].Size(len(all), size)
	}
	var enc colblk.BlockEncoder
	enc.Init(int(size)+1, colblk.Header{Version: colblk.Version1, Columns: 2, Rows: uint32(len(offsets) - 1)},
		indexHeader)
	enc.Encode(len(remapped), &columns[0])
	enc.Encode(len(offsets), &columns[1])
	index := enc.Finish()
	binary.LittleEndian.PutUint32(index, uint32(len(remapped)))

	file := slices.Clone(b[:len(b)-footerLen])
	start := len(file)
	file = append(append(file, index...), byte(block.NoCompressionIndicator))
	file = binary.LittleEndian.AppendUint32(file, masked(crc32.Checksum(file[start:], castagnoli)))
	return withFooter(append(file, b[len(b)-footerLen:]...), func(footer []byte) {
		binary.LittleEndian.PutUint64(footer[footerIndex:], uint64(start))
		binary.LittleEndian.PutUint64(footer[footerIndex+8:], uint64(len(index)))
	})
}

// blobOf reads the value of length n at a place in file 7, which has these bytes.
func blobOf(t *testing.T, file []byte, at blob.HandleSuffix, n int) (string, error) {
	t.Helper()
	fsys := vfs.NewMem()
	f, err := fsys.Create(blobName(7), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	// A file in memory changes what it was given, under the race detector.
	if _, err := f.Write(slices.Clone(file)); err != nil {
		t.Fatal(err)
	}
	place := make([]byte, 1+blob.MaxInlineHandleLength)
	place = place[:1+blob.InlineHandle{
		InlineHandlePreface: blob.InlineHandlePreface{ValueLen: uint32(n)},
		HandleSuffix:        at,
	}.Encode(place[1:])]
	blobs := &blobFiles{fs: fsys, files: map[uint64]uint64{3: 7}}
	defer blobs.close()
	value, err := blobs.value(&row{value: place, apart: true, blobs: []uint64{3}})
	return string(value), err
}

// TestBlobLengthsAreBounded: whatever length a blob file names, or whichever block and value a
// place names that are not in it, nothing is taken for it, and it is an error. What is there is
// read.
func TestBlobLengthsAreBounded(t *testing.T) {
	var values []string
	for i := range 40 {
		values = append(values, strings.Repeat(string(rune('a'+i%26)), 2000+i))
	}
	whole, places := writtenBlob(t, 7, values)
	for i, at := range places {
		if got, err := blobOf(t, whole, at, len(values[i])); err != nil || got != values[i] {
			t.Fatalf("value %d: %d bytes, %v", i, len(got), err)
		}
	}
	one, _ := writtenBlob(t, 7, values[:2])
	end := binary.LittleEndian.Uint64(one[len(one)-footerLen+footerIndex:])
	anew := withIndex(one, []uint64{0, end}, []uint64{1<<32 - 1, 1 << 32})
	if got, err := blobOf(t, anew, blob.HandleSuffix{BlockID: 1}, len(values[1])); got != values[1] {
		t.Errorf("of a file that was written anew: %d bytes, %v", len(got), err)
	}
	other, _ := writtenBlob(t, 8, values)
	index := func(length uint64) []byte {
		return withFooter(whole, func(b []byte) { binary.LittleEndian.PutUint64(b[footerIndex+8:], length) })
	}
	for name, c := range map[string]struct {
		file []byte
		at   blob.HandleSuffix
	}{
		"a huge index":               {file: index(huge)},
		"an index up to the end":     {file: index(uint64(len(whole)))},
		"a length that overflows":    {file: index(1<<64 - 5)},
		"a huge block":               {file: withIndex(whole, []uint64{0, huge}, nil)},
		"a block that ends before":   {file: withIndex(whole, []uint64{huge, 0}, nil)},
		"a block without a checksum": {file: withIndex(whole, []uint64{0, 4}, nil)},
		"no such block":              {file: whole, at: blob.HandleSuffix{BlockID: 1 << 31}},
		"the block after the last":   {file: whole, at: blob.HandleSuffix{BlockID: places[39].BlockID + 1}},
		"no such value":              {file: whole, at: blob.HandleSuffix{ValueID: 1 << 31}},
		"remapped to no block":       {file: withIndex(whole, []uint64{0, huge}, []uint64{1<<32 - 1})},
		"no such remapped block": {
			file: withIndex(whole, []uint64{0, huge}, []uint64{0}), at: blob.HandleSuffix{BlockID: 1},
		},
		"another file": {file: other},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := blobOf(t, c.file, c.at, len(values[0]))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.HasPrefix(err.Error(), blobName(7)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 16<<20 {
				t.Errorf("%d bytes of memory were taken: %v", taken, err)
			}
		})
	}
}

// TestCheckBlobRefuses: Pebble is not given a blob file whose index cannot be in it, or which is
// another one.
func TestCheckBlobRefuses(t *testing.T) {
	whole, _ := writtenBlob(t, 7, []string{"value"})
	other, _ := writtenBlob(t, 8, []string{"value"})
	for name, c := range map[string]struct {
		file []byte
		fine bool
	}{
		"whole":   {whole, true},
		"another": {other, false},
		"huge": {withFooter(whole, func(b []byte) {
			binary.LittleEndian.PutUint64(b[footerIndex+8:], huge)
		}), false},
	} {
		fsys := vfs.NewMem()
		f, err := fsys.Create(blobName(7), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(c.file); err != nil {
			t.Fatal(err)
		}
		err = CheckBlob(fsys, blobName(7))
		if c.fine && err != nil || !c.fine && !errors.Is(err, pebble.ErrCorruption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
