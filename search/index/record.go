package index

import (
	"encoding/binary"
	"errors"
	"math"
)

// The record of a document: a version, the id, fields, stored values; counts and lengths as varints, terms without
// what they share with the term before, positions as differences.
const recordVersion = 1

const (
	flagPositions = 1 << iota
	flagNorm
	flagSort
)

// ErrRecord is the error of a record that is damaged.
var ErrRecord = errors.New("search: a record of an index is damaged")

// AppendRecord appends the record of a document.
func AppendRecord(b []byte, d *Document) []byte {
	b = append(b, recordVersion)
	b = appendText(b, d.ID)
	b = binary.AppendUvarint(b, uint64(len(d.Fields)))
	for i := range d.Fields {
		b = appendField(b, &d.Fields[i])
	}
	b = binary.AppendUvarint(b, uint64(len(d.Stored)))
	for _, s := range d.Stored {
		b = appendText(b, s.Name)
		if s.IsNumber {
			b = append(b, 1)
			b = appendFloat(b, s.Number)
		} else {
			b = append(b, 0)
			b = appendText(b, s.Text)
		}
	}
	return b
}

func appendField(b []byte, f *Field) []byte {
	b = appendText(b, f.Name)
	b = append(b, flagIf(f.Positions, flagPositions)|flagIf(f.HasNorm, flagNorm)|flagIf(f.HasSort, flagSort), f.Norm)
	b = binary.AppendUvarint(b, uint64(f.Length))
	if f.HasSort {
		b = appendText(b, f.Sort)
	}
	b = binary.AppendUvarint(b, uint64(len(f.Terms)))
	last := ""
	for _, t := range f.Terms {
		shared := sharedLength(last, t.Term)
		b = binary.AppendUvarint(b, uint64(shared))
		b = appendText(b, t.Term[shared:])
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
		b = appendText(b, s)
	}
	return b
}

func flagIf(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendFloat(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

func sharedLength(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ReadRecord reads a record. The document does not keep b.
func ReadRecord(b []byte) (*Document, error) {
	r := &recordReader{b: b}
	if r.byte() != recordVersion {
		return nil, ErrRecord
	}
	d := &Document{ID: r.text()}
	for n := r.count(4); n > 0 && !r.bad; n-- {
		d.Fields = append(d.Fields, r.field())
	}
	for n := r.count(3); n > 0 && !r.bad; n-- {
		s := Stored{Name: r.text(), IsNumber: r.byte() == 1}
		if s.IsNumber {
			s.Number = r.float()
		} else {
			s.Text = r.text()
		}
		d.Stored = append(d.Stored, s)
	}
	if r.bad || len(r.b) > 0 {
		return nil, ErrRecord
	}
	return d, nil
}

// recordReader reads pieces of a record; bad says that one was not there.
type recordReader struct {
	b   []byte
	bad bool
}

func (r *recordReader) field() Field {
	f := Field{Name: r.text()}
	flags := r.byte()
	f.Positions, f.HasNorm, f.HasSort = flags&flagPositions != 0, flags&flagNorm != 0, flags&flagSort != 0
	f.Norm = r.byte()
	f.Length = r.int32()
	if f.HasSort {
		f.Sort = r.text()
	}
	n := r.count(2)
	if n > 0 {
		f.Terms = make([]Term, 0, n)
	}
	last := ""
	for ; n > 0 && !r.bad; n-- {
		shared := r.int32()
		rest := r.text()
		if int(shared) > len(last) {
			r.bad = true
			break
		}
		t := Term{Term: last[:shared] + rest}
		last = t.Term
		if f.Positions {
			t.Positions = r.positions()
		}
		f.Terms = append(f.Terms, t)
	}
	for n := r.count(8); n > 0 && !r.bad; n-- {
		f.Numbers = append(f.Numbers, r.float())
	}
	for n := r.count(1); n > 0 && !r.bad; n-- {
		f.Strings = append(f.Strings, r.text())
	}
	return f
}

func (r *recordReader) positions() []int32 {
	n := r.count(1)
	all, at := make([]int32, 0, n), int32(0)
	for ; n > 0 && !r.bad; n-- {
		step := r.int32()
		if step > math.MaxInt32-at {
			r.bad = true
			break
		}
		at += step
		all = append(all, at)
	}
	return all
}

func (r *recordReader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *recordReader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) int32() int32 {
	v := r.uint()
	if v > math.MaxInt32 {
		r.bad = true
		return 0
	}
	return int32(v)
}

// count is a number of things that take at least size bytes each: a damaged count does not make memory.
func (r *recordReader) count(size int) int {
	v := r.uint()
	if v > uint64(len(r.b)/size) {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *recordReader) text() string {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *recordReader) float() float64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return 0
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}
