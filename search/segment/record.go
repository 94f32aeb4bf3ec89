package segment

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/settee-db/settee/storage/kv/packed"
)

// The record of a document: a version, the id, fields, stored values; counts and lengths as
// varints, terms without what they share with the term before, positions as differences.
const recordVersion = 1

const (
	flagPositions = 1 << iota
	flagNorm
	flagSort
)

// ErrRecord is the error of a record that is damaged.
var ErrRecord = errors.New("search: a record of an index is damaged")

// AppendRecord appends the record of a document as the log keeps it: its id, what it has in each
// field, and its stored values. ReadRecord reads it.
func AppendRecord(b []byte, d *Document) []byte {
	b = append(b, recordVersion)
	b = packed.AppendText(b, d.ID)
	b = binary.AppendUvarint(b, uint64(len(d.Fields)))
	for i := range d.Fields {
		b = appendField(b, &d.Fields[i])
	}
	b = binary.AppendUvarint(b, uint64(len(d.Stored)))
	for _, s := range d.Stored {
		b = packed.AppendText(b, s.Name)
		if s.IsNumber {
			b = append(b, 1)
			b = appendFloat(b, s.Number)
		} else {
			b = append(b, 0)
			b = packed.AppendText(b, s.Text)
		}
	}
	return b
}

// appendField writes a field. Each term is the number of bytes that it shares with the one before,
// and the rest, since terms are sorted; positions are differences. recordReader.field reads the
// same.
func appendField(b []byte, f *Field) []byte {
	b = packed.AppendText(b, f.Name)
	b = append(b, flagIf(f.Positions, flagPositions)|flagIf(f.HasNorm, flagNorm)|flagIf(f.HasSort, flagSort), f.Norm)
	b = binary.AppendUvarint(b, uint64(f.Length))
	if f.HasSort {
		b = packed.AppendText(b, f.Sort)
	}
	b = binary.AppendUvarint(b, uint64(len(f.Terms)))
	last := ""
	for _, t := range f.Terms {
		shared := SharedLength(last, t.Term)
		b = binary.AppendUvarint(b, uint64(shared))
		b = packed.AppendText(b, t.Term[shared:])
		last = t.Term
		if !f.Positions {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(t.Positions)))
		at := int32(0)
		for _, p := range t.Positions {
			b = binary.AppendUvarint(b, uint64(p-at))
			at = p
		}
	}
	b = binary.AppendUvarint(b, uint64(len(f.Numbers)))
	for _, v := range f.Numbers {
		b = appendFloat(b, v)
	}
	b = binary.AppendUvarint(b, uint64(len(f.Strings)))
	for _, s := range f.Strings {
		b = packed.AppendText(b, s)
	}
	return b
}

func flagIf(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

func appendFloat(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// SharedLength is how many bytes two texts have in common at their beginning.
func SharedLength(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ReadRecord reads a record; the document does not refer to b. The error is ErrRecord if b is
// damaged or of another version.
func ReadRecord(b []byte) (*Document, error) {
	r := &recordReader{packed.Reader{B: b}}
	if r.Byte() != recordVersion {
		return nil, ErrRecord
	}
	d := &Document{ID: r.Text()}
	for n := r.Count(4); n > 0 && !r.Bad; n-- {
		d.Fields = append(d.Fields, r.field())
	}
	for n := r.Count(3); n > 0 && !r.Bad; n-- {
		s := Stored{Name: r.Text(), IsNumber: r.Byte() == 1}
		if s.IsNumber {
			s.Number = r.float()
		} else {
			s.Text = r.Text()
		}
		d.Stored = append(d.Stored, s)
	}
	if !r.Done() {
		return nil, ErrRecord
	}
	return d, nil
}

// recordReader reads pieces of a record.
type recordReader struct{ packed.Reader }

// field reads what appendField has written. A record may be damaged: counts are bounded by the
// bytes that are left (Count), a prefix must be within the term before, and the reader turns bad
// instead of panicking.
func (r *recordReader) field() Field {
	f := Field{Name: r.Text()}
	flags := r.Byte()
	f.Positions, f.HasNorm, f.HasSort = flags&flagPositions != 0, flags&flagNorm != 0, flags&flagSort != 0
	f.Norm = r.Byte()
	f.Length = r.int32()
	if f.HasSort {
		f.Sort = r.Text()
	}
	n := r.Count(2)
	if n > 0 {
		f.Terms = make([]Term, 0, n)
	}
	last := ""
	for ; n > 0 && !r.Bad; n-- {
		shared := r.int32()
		rest := r.Text()
		if int(shared) > len(last) {
			r.Bad = true
			break
		}
		t := Term{Term: last[:shared] + rest}
		last = t.Term
		if f.Positions {
			t.Positions = r.positions()
		}
		f.Terms = append(f.Terms, t)
	}
	for n := r.Count(8); n > 0 && !r.Bad; n-- {
		f.Numbers = append(f.Numbers, r.float())
	}
	for n := r.Count(1); n > 0 && !r.Bad; n-- {
		f.Strings = append(f.Strings, r.Text())
	}
	return f
}

// positions reads the places of a term, which are stored as differences; one that would not fit
// into 31 bits makes the record bad.
func (r *recordReader) positions() []int32 {
	n := r.Count(1)
	all, at := make([]int32, 0, n), int32(0)
	for ; n > 0 && !r.Bad; n-- {
		step := r.int32()
		if step > math.MaxInt32-at {
			r.Bad = true
			break
		}
		at += step
		all = append(all, at)
	}
	return all
}

// int32 reads a number that has to fit 31 bits; a larger one is damage.
func (r *recordReader) int32() int32 {
	v := r.Uvarint()
	if v > math.MaxInt32 {
		r.Bad = true
		return 0
	}
	return int32(v)
}

// float reads the eight bytes of a double.
func (r *recordReader) float() float64 {
	b := r.Take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}
