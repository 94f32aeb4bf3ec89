package storage

import (
	"bytes"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
)

// explodedBody puts a body of the exploded layout, or a part of one, together again. The entries may be added in any order.
// The zero value is empty; reset keeps the memory.
type explodedBody struct {
	buf  []byte
	rows []explodedRow
	// first is the lowest ordinal: 0 unless this is a part of a body.
	first int64

	slots  []int32 // by ordinal - first: index into rows, -1 absent
	levels []level // of the path written last
}

// explodedRow is one entry; offsets are into explodedBody.buf.
type explodedRow struct {
	start, path, scalar int // path begins at start and ends at path; the scalar ends at scalar
	ordinal             int64
}

// level is one step of a path.
type level struct {
	start, end int // the encoded element in explodedBody.buf
	object     bool
}

func (b *explodedBody) reset() {
	b.buf, b.rows, b.first = b.buf[:0], b.rows[:0], 0
}

// add takes one entry: its path below the entry's key (or below the path that was asked for) and its value. Both are copied.
func (b *explodedBody) add(path, value []byte) error {
	rest, err := skipScalar(value)
	if err != nil {
		return corrupt("exploded value", err)
	}
	ordinal, after, err := kv.ReadInt(rest)
	if err != nil || len(after) > 0 || ordinal < 0 {
		return corrupt("exploded value", err)
	}
	row := explodedRow{start: len(b.buf), ordinal: ordinal}
	b.buf = append(b.buf, path...)
	row.path = len(b.buf)
	b.buf = append(b.buf, value[:len(value)-len(rest)]...)
	row.scalar = len(b.buf)
	if len(b.rows) == 0 || ordinal < b.first {
		b.first = ordinal
	}
	b.rows = append(b.rows, row)
	return nil
}

// appendBody appends the canonical text of a whole body that was exploded into so many values.
func (b *explodedBody) appendBody(dst []byte, values int) ([]byte, error) {
	if len(b.rows) != values || b.first != 0 {
		return dst, corrupt("exploded body: values are missing", nil)
	}
	return b.appendJSON(dst)
}

// appendJSON appends the canonical text of what was added: that of the value itself if its path is empty, else of the
// container around all of it, `{}` if there is nothing.
func (b *explodedBody) appendJSON(dst []byte) ([]byte, error) {
	if len(b.rows) == 0 {
		return append(dst, '{', '}'), nil
	}
	if err := b.order(); err != nil {
		return dst, err
	}
	b.levels = b.levels[:0]
	for _, i := range b.slots {
		row := b.rows[i]
		var err error
		if dst, err = b.descend(dst, row); err != nil {
			return dst, err
		}
		if dst, err = appendScalar(dst, b.buf[row.path:row.scalar]); err != nil {
			return dst, err
		}
	}
	return b.ascend(dst, 0), nil
}

// order fills slots; every ordinal must be there once.
func (b *explodedBody) order() error {
	b.slots = b.slots[:0]
	for range b.rows {
		b.slots = append(b.slots, -1)
	}
	for i, row := range b.rows {
		slot := row.ordinal - b.first
		if slot >= int64(len(b.slots)) || b.slots[slot] >= 0 {
			return corrupt("exploded body: ordinals with gaps", nil)
		}
		b.slots[slot] = int32(i)
	}
	return nil
}

// descend closes what the path written last has open and row's has not, and opens what row's has more.
func (b *explodedBody) descend(dst []byte, row explodedRow) ([]byte, error) {
	common := true
	for at, depth := row.start, 0; at < row.path; depth++ {
		step, err := b.step(at, row.path)
		if err != nil {
			return dst, err
		}
		at = step.end
		if common && depth < len(b.levels) {
			last := b.levels[depth]
			if last.object != step.object {
				return dst, corrupt("exploded body: object and array at one path", nil)
			}
			if bytes.Equal(b.buf[last.start:last.end], b.buf[step.start:step.end]) {
				continue
			}
			dst = append(b.ascend(dst, depth+1), ',')
			b.levels = b.levels[:depth]
		} else {
			if len(b.levels) > 0 && common {
				return dst, corrupt("exploded body: a value that has children", nil)
			}
			dst = append(dst, bracket(step.object, '{', '['))
		}
		common = false
		b.levels = append(b.levels, step)
		if step.object {
			name, _, err := kv.ReadText(b.buf[step.start:step.end])
			if err != nil {
				return dst, corrupt("exploded path", err)
			}
			dst = append(ejson.AppendString(dst, name), ':')
		}
	}
	if common && len(b.rows) > 1 {
		return dst, corrupt("exploded body: a value that has children", nil)
	}
	return dst, nil
}

// ascend closes the containers down to depth.
func (b *explodedBody) ascend(dst []byte, depth int) []byte {
	for i := len(b.levels) - 1; i >= depth; i-- {
		dst = append(dst, bracket(b.levels[i].object, '}', ']'))
	}
	return dst
}

func bracket(object bool, yes, no byte) byte {
	if object {
		return yes
	}
	return no
}

// step reads the element of a path at an offset.
func (b *explodedBody) step(at, end int) (level, error) {
	var rest []byte
	var err error
	src := b.buf[at:end]
	object := kv.PeekKind(src) == kv.KindString
	if object {
		_, rest, err = kv.ReadText(src)
	} else {
		_, rest, err = kv.ReadInt(src)
	}
	if err != nil {
		return level{}, corrupt("exploded path", err)
	}
	return level{start: at, end: end - len(rest), object: object}, nil
}

// skipScalar returns what follows the first element of a value.
func skipScalar(value []byte) (rest []byte, err error) {
	switch kv.PeekKind(value) {
	case kv.KindNil:
		return value[1:], nil
	case kv.KindBool:
		_, rest, err = kv.ReadBool(value)
	case kv.KindString:
		_, rest, err = kv.ReadText(value)
	case kv.KindInt:
		if _, rest, err = kv.ReadInt(value); err != nil {
			_, rest, err = kv.ReadBigInt(value)
		}
	case kv.KindDouble:
		_, rest, err = kv.ReadDouble(value)
	case kv.KindBytes:
		_, rest, err = kv.ReadBytes(value)
	default:
		err = kv.ErrTuple
	}
	return rest, err
}

// appendScalar appends the JSON text of a tuple element written by exploder.scalar.
func appendScalar(dst, element []byte) ([]byte, error) {
	var err error
	switch kv.PeekKind(element) {
	case kv.KindNil:
		return append(dst, "null"...), nil
	case kv.KindBool:
		var v bool
		if v, _, err = kv.ReadBool(element); err == nil {
			return strconv.AppendBool(dst, v), nil
		}
	case kv.KindString:
		var text []byte
		if text, _, err = kv.ReadText(element); err == nil {
			return ejson.AppendString(dst, text), nil
		}
	case kv.KindInt:
		if n, _, err := kv.ReadInt(element); err == nil {
			return strconv.AppendInt(dst, n, 10), nil
		}
		n, _, err := kv.ReadBigInt(element)
		if err != nil {
			return dst, corrupt("exploded value", err)
		}
		return n.Append(dst, 10), nil
	case kv.KindDouble:
		var f float64
		if f, _, err = kv.ReadDouble(element); err == nil {
			return ejson.AppendFloat(dst, f), nil
		}
	case kv.KindBytes:
		var text []byte
		if text, _, err = kv.ReadBytes(element); err == nil {
			return append(dst, text...), nil
		}
	}
	return dst, corrupt("exploded value", err)
}
