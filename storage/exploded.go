package storage

import (
	"bytes"
	"math/big"
	"strconv"
	"sync"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
)

// The exploded layout keeps a body as one entry for each value that is no container: the key is the entry's key followed by
// the path, member names as texts and array positions as integers; the value is the tuple (scalar, ordinal).
//
// A path alone would lose the order of members, so the ordinal counts the values of the body in document order. A scalar that
// no tuple type gives back exactly (an empty container, an integer of more than 255 bytes) is kept as its JSON text in a byte
// string, a type that JSON itself does not use.
//
// Bodies that would not fit are stored packed instead; the entry's format byte tells which.
const (
	// maxExplodedKey leaves room below FoundationDB's limit for keys.
	maxExplodedKey = 9_500
	// maxExplodedBytes bounds keys and values of one body: as many small values take many times the bytes of their text.
	maxExplodedBytes = 2_000_000
	maxExplodedDepth = 256
)

// explodeBody calls set for every value of a body, which is a canonical JSON object, with the entry's key followed by the
// path. ok is false, and set was not called, if the body has to be stored packed. Keys and values are valid during set only.
func explodeBody(entryKey, body []byte, set func(key, value []byte)) (ok bool, err error) {
	p := ejson.AcquireParser()
	defer p.Release()
	root, err := p.Parse(body)
	if err != nil {
		return false, err
	}
	e := exploders.Get().(*exploder)
	defer exploders.Put(e)
	e.buf, e.ends, e.keys = e.buf[:0], e.ends[:0], len(entryKey)
	e.path = append(e.path[:0], entryKey...)
	if !e.container(root, 0) {
		return false, nil
	}
	start := 0
	for _, end := range e.ends {
		e.path = append(e.path[:len(entryKey)], e.buf[start:end.path]...)
		set(e.path, e.buf[end.path:end.value])
		start = end.value
	}
	return true, nil
}

// exploder collects the entries of a body, since it is known at the end only whether the body fits.
type exploder struct {
	buf  []byte // path, value, path, value, …
	ends []pairEnd
	path []byte // entry's key and the path of the value at hand
	keys int    // length of the entry's key
	text []byte // scratch
}

// pairEnd are the ends of a path and of its value in a buffer; the next path begins at the end of the value.
type pairEnd struct{ path, value int }

var exploders = sync.Pool{New: func() any { return new(exploder) }}

// container adds the values below an object or array; false if something does not fit.
func (e *exploder) container(v ejson.Value, depth int) bool {
	if depth == maxExplodedDepth {
		return false
	}
	parent := len(e.path)
	if v.Kind() == ejson.Object {
		for name, member := range v.Members() {
			e.text = name.AppendText(e.text[:0])
			e.path = kv.AppendString(e.path[:parent], e.text)
			if !e.value(member, depth) {
				return false
			}
		}
		return true
	}
	i := int64(0)
	for element := range v.Elements() {
		e.path = kv.AppendInt(e.path[:parent], i)
		if !e.value(element, depth) {
			return false
		}
		i++
	}
	return true
}

func (e *exploder) value(v ejson.Value, depth int) bool {
	if len(e.path) > maxExplodedKey {
		return false
	}
	if v.Len() > 0 {
		return e.container(v, depth+1)
	}
	e.buf = append(e.buf, e.path[e.keys:]...)
	path := len(e.buf)
	e.scalar(v)
	e.buf = kv.AppendInt(e.buf, int64(len(e.ends)))
	e.ends = append(e.ends, pairEnd{path, len(e.buf)})
	return len(e.buf)-path <= maxEntry && len(e.buf)+len(e.ends)*e.keys <= maxExplodedBytes
}

// scalar appends a value without children as a tuple element.
func (e *exploder) scalar(v ejson.Value) {
	raw := v.Raw()
	switch v.Kind() {
	case ejson.Null:
		e.buf = kv.AppendNil(e.buf)
		return
	case ejson.Bool:
		b, _ := v.Bool()
		e.buf = kv.AppendBool(e.buf, b)
		return
	case ejson.String:
		e.text = v.AppendText(e.text[:0])
		e.buf = kv.AppendString(e.buf, e.text)
		return
	case ejson.Int:
		if n, ok := v.Int(); ok {
			if e.text = strconv.AppendInt(e.text[:0], n, 10); bytes.Equal(e.text, raw) {
				e.buf = kv.AppendInt(e.buf, n)
				return
			}
		} else if n, ok := new(big.Int).SetString(string(raw), 10); ok && n.BitLen() <= 255*8 {
			e.buf = kv.AppendBigInt(e.buf, n)
			return
		}
	case ejson.Double:
		if f, ok := v.Float(); ok {
			if e.text = ejson.AppendFloat(e.text[:0], f); bytes.Equal(e.text, raw) {
				e.buf = kv.AppendDouble(e.buf, f)
				return
			}
		}
	}
	e.buf = kv.AppendBytes(e.buf, raw)
}
