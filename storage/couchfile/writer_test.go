package couchfile

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// writer writes files as CouchDB does, of versions that no server at hand writes any more, and of any
// nonsense.
type writer struct{ file []byte }

type (
	atom string
	tup  []any
	list []any
	raw  []byte // a term as it is
)

// term appends a term, without its first byte.
func term(dst []byte, v any) []byte {
	switch v := v.(type) {
	case atom:
		return ejson.AppendTermAtom(dst, string(v))
	case int:
		return ejson.AppendTermInt(dst, int64(v))
	case int64:
		return ejson.AppendTermInt(dst, v)
	case string:
		return ejson.AppendTermBinary(dst, v)
	case []byte:
		return ejson.AppendTermBinary(dst, v)
	case raw:
		return append(dst, v...)
	case tup:
		dst = append(dst, tagSmallTuple, byte(len(v)))
		for _, e := range v {
			dst = term(dst, e)
		}
		return dst
	case list:
		if len(v) == 0 {
			return append(dst, tagNil)
		}
		dst = binary.BigEndian.AppendUint32(append(dst, tagList), uint32(len(v)))
		for _, e := range v {
			dst = term(dst, e)
		}
		return append(dst, tagNil)
	}
	panic("no term")
}

func plain(v any) []byte { return term([]byte{termVersion}, v) }

// put appends bytes with the prefix of each block that they begin.
func (w *writer) put(data []byte) {
	for _, b := range data {
		if len(w.file)%blockSize == 0 {
			w.file = append(w.file, blockData)
		}
		w.file = append(w.file, b)
	}
}

// record appends a record, and gives its position.
func (w *writer) record(data []byte, checked bool) int {
	at := len(w.file)
	n := uint32(len(data))
	if checked {
		sum := md5.Sum(data)
		data = append(sum[:], data...)
		n |= checksumBit
	}
	w.put(append(binary.BigEndian.AppendUint32(nil, n), data...))
	return at
}

func (w *writer) header(t tup) {
	for len(w.file)%blockSize != 0 {
		w.file = append(w.file, 0)
	}
	data := plain(t)
	sum := md5.Sum(data)
	w.file = append(w.file, blockHeader)
	w.put(append(binary.BigEndian.AppendUint32(nil, uint32(md5.Size+len(data))), append(sum[:], data...)...))
}

// node appends a node of a tree.
func (w *writer) node(kind string, rows ...any) int {
	return w.record(plain(tup{atom(kind), list(rows)}), false)
}

func (w *writer) open(t testing.TB) *File {
	t.Helper()
	f, damages, err := open("x.couch", bytes.NewReader(w.file), int64(len(w.file)))
	require.NoError(t, err)
	require.Empty(t, damages)
	return f
}

const hash1, hash2, hash3 = "0123456789abcdef", "fedcba9876543210", "aaaabbbbccccdddd"

// TestOldVersions: files of 0.10 to 2.3 have the documents that were written to them: summaries that
// are terms themselves, rows without sizes, attachments without encodings, purges as one pointer.
func TestOldVersions(t *testing.T) {
	for version := oldestVersion; version <= newestVersion; version++ {
		var w writer
		chunk1, chunk2 := w.record([]byte("hello "), false), w.record([]byte("world"), false)
		body := tup{list{tup{"a", list{1, 2}}, tup{"float", raw(oldFloat("1.50000000000000000000e+00"))}}}
		sum := md5.Sum([]byte("hello world"))
		att := tup{"f", "text/plain", list{chunk1, tup{chunk2, 5}}, 11, 0, sum[:]}
		att = append(att[:4], 2, sum[:])
		old := tup{"g", tup{"text/plain", list{chunk1}, 6}}
		summary := plain(tup{body, list{att, old}})
		if version >= 6 {
			summary = plain(tup{plain(body), plain(list{att, old})})
		}
		at := w.record(summary, true)
		gone := w.record(plain(tup{tup{list{}}, list{}}), true)
		tree := list{tup{1, tup{hash1, list{}, list{
			tup{hash2, tup{0, at, 2}, list{}},
			tup{"odd", tup{1, gone, 3}, list{}},
		}}}, tup{7, tup{hash3, tup{0, at, 4}, list{}}}}
		row := tup{"doc", tup{4, 0, tree}}
		red := tup{1, 0}
		if version >= 6 {
			row, red = tup{"doc", tup{4, 0, tup{10, 20}, tree}}, tup{1, 0, tup{10, 20}}
		}
		leaf := w.node("kv_node", row)
		root := w.node("kp_node", tup{"doc", tup{leaf, red}})
		locals := w.node("kv_node", tup{"_local/x", tup{"3", body}})
		purged := list{tup{"was", list{tup{1, hash1}}}}
		head := tup{atom("db_header"), version, 4, 0, tup{root, red}, atom("nil"), tup{locals, 1}}
		if version < purgeTrees {
			head = append(head, 2, w.record(plain(purged), false))
		} else {
			p := w.node("kv_node", tup{2, tup{"uuid", "was", list{tup{1, hash1}}}})
			head = append(head, atom("nil"), tup{p, 1})
		}
		head = append(head, w.record(plain(list{tup{"extra", list{}}}), false), 17)
		if version >= 7 {
			head = append(head, "uuid-of-the-shard", list{}, 0, 23)
		}
		w.header(head)

		f := w.open(t)
		info := f.Info()
		require.Equal(t, version, info.Version)
		require.Equal(t, int64(1), info.Documents)
		require.Equal(t, int64(17), info.RevsLimit)
		security, err := f.Security()
		require.NoError(t, err)
		require.JSONEq(t, `{"extra":[]}`, string(security))
		lost := func(d *Damage) error { return d }
		got := map[string]string{}
		require.NoError(t, f.Revisions(0, func(r *Revision) error {
			got[r.Revs.Rev().String()] = readLine(t, f, r)
			return nil
		}, lost))
		const text = `{"a":[1,2],"float":1.5}`
		// The second attachment says nothing of its digest.
		f1 := attachmentLine("f", "text/plain", "md5-XrY7u+Ae7tCTyyK7j1rNww==", 2, []byte("hello world"))
		g := attachmentLine("g", "text/plain", "md5-AAAAAAAAAAAAAAAAAAAAAA==", 0, []byte("hello "))
		atts := "map[f:" + f1 + " g:" + g + "]"
		h1, h2, h3 := hex(hash1), hex(hash2), hex(hash3)
		require.Equal(t, map[string]string{
			"2-" + h2: "docfalse 2 [" + h2 + " " + h1 + "]" + text + atts,
			"2-odd":   "doctrue 2 [odd " + h1 + "]{}map[]",
			"7-" + h3: "docfalse 7 [" + h3 + "]" + text + atts,
		}, got, version)
		require.NoError(t, f.Locals(func(l Local) error {
			require.Equal(t, "_local/x 3 "+text, l.ID+" "+l.Rev+" "+string(l.Body))
			return nil
		}, lost))
		purges := 0
		require.NoError(t, f.Purges(func(p Purge) error {
			purges++
			require.Equal(t, Purge{Seq: 2, ID: "was", Revs: []compat.Rev{{Pos: 1, Hash: hash1}}}, p)
			return nil
		}, lost))
		require.Equal(t, 1, purges)
	}
}

func hex(hash string) string { return string(compat.AppendRevHash(nil, hash)) }

// oldFloat is a float as Erlang wrote it before R15.
func oldFloat(text string) []byte {
	return append([]byte{tagOldFloat}, append([]byte(text), make([]byte, oldFloatSize-len(text))...)...)
}

// TestZstd: terms of a CouchDB with zstd are read, and what they declare is not believed.
func TestZstd(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	c := newCursor(z.EncodeAll(plain(tup{list{tup{"a", 1}}}), nil))
	require.Equal(t, `{"a":1}`, string(c.appendJSON(nil)))
	require.NoError(t, c.err)
	bomb := newCursor(z.EncodeAll(append(plain("x"), bytes.Repeat([]byte{0}, maxRecord+1)...), nil))
	require.Error(t, bomb.err)
}

// TestLoops: a tree whose nodes lead to themselves, or to what stands behind them, ends.
func TestLoops(t *testing.T) {
	var w writer
	child := func(key string, at int) tup { return tup{key, tup{at, tup{1, 0}}} }
	root := w.node("kp_node", child("b", 1<<30), child("a", 0), child("c", 1))
	self := len(w.file)
	w.node("kp_node", tup{"z", tup{self, tup{1, 0}}}, tup{"zz", tup{root, tup{3, 0}}})
	w.header(tup{atom("db_header"), 8, 1, 0, tup{self, tup{4, 0}}, atom("nil"), atom("nil"), atom("nil"), atom("nil"),
		atom("nil"), 1000})
	f, damages := w.open(t), 0
	require.NoError(t, f.Revisions(0, func(*Revision) error { return nil }, func(*Damage) error {
		damages++
		return nil
	}))
	require.Positive(t, damages)
}
