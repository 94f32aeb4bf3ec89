package views

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/progress"
)

// TestKeySpace shows the keys and values that documents leave in indexes, byte for byte, and the
// rows that queries give of them: a difference in testdata/keyspace is a change of what is stored,
// or of what clients see. `go test ./views -run TestKeySpace -rewrite` writes down what is there
// now.
//
//	create [partitioned]                   the database
//	design name=… [language=query]         a design document, the input are its views; of language query: interactive
//	put id=…                               a document, `emit` in the input is what it emits; without a body it goes
//	many n=…                               so many documents that emit nothing
//	cut design=…, piece n=…, end           a first build is cut into pieces; one of them is built; they become one
//	query view=DESIGN/VIEW [options=…]     the rows, after the index was brought up to date; options are as in a URL
//
// All print what has come (+), gone (-) or become another (~) among the keys of indexes.
func TestKeySpace(t *testing.T) {
	datadriven.Walk(t, "testdata/keyspace", func(t *testing.T, path string) {
		var b *bench
		var building *builder // in pieces
		dump := &indexDump{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			result := ""
			switch d.Cmd {
			case "create":
				dump.kv = memkv.New()
				b = newBench(t, dump.kv, storage.CreateOptions{Partitioned: d.HasArg("partitioned")})
				dump.read(t, b.db)
			case "design":
				name, language := "", "emitter"
				d.ScanArgs(t, "name", &name)
				d.MaybeScanArgs(t, "language", &language)
				b.put(t, "_design/"+name, designBody(language, d.Input))
			case "put":
				var id string
				d.ScanArgs(t, "id", &id)
				b.put(t, id, d.Input)
			case "query":
				var view, options string
				d.ScanArgs(t, "view", &view)
				d.MaybeScanArgs(t, "options", &options)
				design, name, _ := strings.Cut(view, "/")
				for _, row := range b.query(t, design, name, options).rows {
					result += row + "\n"
				}
			case "many":
				var n int
				d.ScanArgs(t, "n", &n)
				b.more(t, n, `{}`)
			case "cut":
				var name string
				d.ScanArgs(t, "design", &name)
				building = b.cutForTest(t, "_design/"+name)
			case "piece":
				var n int64
				d.ScanArgs(t, "n", &n)
				must(t, building.buildPiece(t.Context(), building.indexes[0].rec.pieces, n))
			case "end":
				must(t, building.endPieces(t.Context(), building.indexes[0].rec.pieces))
			default:
				d.Fatalf(t, "unknown command")
			}
			return result + dump.changes(t, b.db)
		})
	})
}

// cutForTest cuts the first build of a design document into pieces of some 500 changes, whoever
// shares it.
func (b *bench) cutForTest(t *testing.T, ddoc string) *builder {
	t.Helper()
	b.views.opts.pieceChanges = 500
	d, uuid, err := b.views.openDesign(t.Context(), b.db, ddoc)
	must(t, err)
	building := &builder{v: b.views, db: b.db, uuid: uuid, design: d, task: progress.New("db", ddoc)}
	_, err = building.prepare(t.Context())
	must(t, err)
	cut, err := building.cutUp(t.Context(), building.lagging)
	must(t, err)
	_, err = building.prepare(t.Context())
	must(t, err)
	if !cut {
		t.Error("the build is not cut")
	}
	return building
}

// indexDump tells what has changed below TagViews.
type indexDump struct {
	kv   kv.Store
	last map[string]string
}

// read gives all keys without their prefix, with their values.
func (d *indexDump) read(t *testing.T, db *storage.DB) map[string]string {
	t.Helper()
	now := map[string]string{}
	must(t, db.View(context.Background(), func(s *storage.Snapshot) error {
		prefix := spaceOf(s)
		it := s.KV().Range(prefix, kv.AppendPrefixEnd(nil, prefix), kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			now[string(it.Key()[len(prefix):])] = string(it.Value())
		}
		return it.Err()
	}))
	return now
}

func (d *indexDump) changes(t *testing.T, db *storage.DB) string {
	t.Helper()
	now := d.read(t, db)
	var keys []string
	for key := range now {
		keys = append(keys, key)
	}
	for key := range d.last {
		if _, ok := now[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		value, is := now[key]
		old, was := d.last[key]
		switch {
		case !was:
			fmt.Fprintf(&b, "+ %s\n", entryText(t, key, value))
		case !is:
			fmt.Fprintf(&b, "- %s\n", entryText(t, key, old))
		case value != old:
			fmt.Fprintf(&b, "~ %s\n", entryText(t, key, value))
		}
	}
	d.last = now
	return b.String()
}

// entryText is a key with its value.
func entryText(t *testing.T, key, value string) string {
	tag, rest, err := tuple.ReadInt([]byte(key))
	must(t, err)
	switch tag {
	case keyInfo: // the signature is a hash of the definition
		rec, _, err := parseRecord([]byte(value))
		must(t, err)
		text := fmt.Sprintf("(INFO, <signature>) = index %d up to %s", rec.number, seqText(rec.seq))
		if rec.pieces != 0 {
			text += fmt.Sprintf(", in pieces of %d up to %s", rec.pieces, seqText(rec.fresh))
		}
		return text
	case keyNextNumber:
		return fmt.Sprintf("(NEXT) = %d", binary.LittleEndian.Uint64([]byte(value)))
	case keyInteractive:
		return "(INTERACTIVE) = a list"
	}
	number, rest, err := tuple.ReadInt(rest)
	must(t, err)
	name := [...]string{
		keyRows: "ROWS", keyIDs: "IDS", keyCounts: "COUNTS", keyLevels: "LEVELS", keyErrors: "ERRORS",
		keyChanged: "CHANGED", keyOversized: "OVERSIZED", keyPieces: "PIECES",
	}[tag]
	text := func(key, value string) string { return fmt.Sprintf("(%s, %d%s) = %s", name, number, key, value) }
	switch tag {
	case keyRows:
		return text(rowText(t, rest, []byte(value)))
	case keyIDs, keyErrors:
		id, _, err := tuple.ReadString(rest)
		must(t, err)
		return text(", "+quoted(id), quoted(value))
	case keyCounts:
		counter, _, err := tuple.ReadInt(rest)
		must(t, err)
		return text(fmt.Sprint(", ", counter), fmt.Sprint(int64(binary.LittleEndian.Uint64([]byte(value)))))
	case keyPieces:
		return text(piecesText(t, rest, []byte(value)))
	case keyChanged:
		seq, err := keyspace.ParseSeq([]byte(value))
		must(t, err)
		return text("", seqText(seq))
	}
	return text(", "+quoted(string(rest)), quoted(value))
}

// piecesText is a build in pieces, or one of them.
func piecesText(t *testing.T, rest, value []byte) (key, text string) {
	if len(rest) == 0 {
		set := &pieceSet{}
		must(t, set.parse(value))
		return "", set.design + ", <signature>"
	}
	n, _, err := tuple.ReadInt(rest)
	must(t, err)
	c := &piece{}
	must(t, c.parse(value))
	return fmt.Sprint(", ", n), fmt.Sprintf("at %s of %s, %d of %d", seqText(c.at), seqText(c.end), c.done, c.total)
}

// rowText is a row: the emitted key as it sorts, the document's id, the number; the emitted key and
// value as JSON.
func rowText(t *testing.T, rowKey, value []byte) (key, emitted string) {
	p := parser{packed.Reader{B: value}}
	keyed, length := p.Uvarint(), p.Uvarint()
	json := p.Take(int(length))
	id, rest, err := tuple.ReadString(rowKey[keyed:])
	must(t, err)
	number, _, err := tuple.ReadInt(rest)
	must(t, err)
	key = fmt.Sprintf(", %s, %q, %d", quoted(string(rowKey[:keyed])), id, number)
	return key, fmt.Sprintf("%s: %s", json, p.B)
}

// quoted shows bytes, of which those that are no ASCII have no meaning as text.
func quoted(s string) string {
	b := []byte{'"'}
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			b = fmt.Appendf(b, `\x%02x`, c)
		} else {
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// seqText is a sequence: its incarnation, the number of the commit and the place in it.
func seqText(s storage.Seq) string {
	return fmt.Sprintf("%d:%d.%d", s.Incarnation,
		binary.BigEndian.Uint64(s.Versionstamp[:]), binary.BigEndian.Uint16(s.Versionstamp[10:]))
}
