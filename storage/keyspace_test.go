package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/storagetest"
)

// TestKeySpace shows the keys and values that each kind of write leaves, byte for byte: a
// difference in testdata/keyspace is a change of the store's format. `go test ./storage -run
// TestKeySpace -rewrite` writes down what is there now.
//
//	create [partitioned]           the database
//	put id=… [rev=…]               an edit; without a body a tombstone
//	replicate id=… rev=N-new,old   a line of revisions; without a body a tombstone
//	attach id=… [rev=…]            an edit with an attachment, its bytes are the input
//	purge id=… rev=…
//	limit n=…                      revs_limit
//	compact
//	changes [leaves]               the feed
//
// All but the last print what has come (+), gone (-) or become another (~) among the keys.
func TestKeySpace(t *testing.T) {
	datadriven.Walk(t, "testdata/keyspace", func(t *testing.T, path string) {
		k := memkv.New()
		now := time.Unix(1_700_000_000, 0)
		s, err := Open(t.Context(), Options{KV: k, Manual: true, Now: func() time.Time { return now }})
		must(t, err)
		t.Cleanup(func() {
			checkStore(t, k)
			must(t, s.Close())
			must(t, k.Close())
		})
		dump := &keyDump{kv: k}
		dump.changes(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "changes" {
				text, _ := feedText(t, s.DB("db"), ChangesOptions{Limit: -1, AllLeaves: d.HasArg("leaves")}, nil)
				return text
			}
			result := runKeySpace(t, s, d)
			return result + dump.changes(t)
		})
	})
}

// runKeySpace runs a command that writes and gives its result, if it has one.
func runKeySpace(t *testing.T, s *Store, d *datadriven.TestData) (result string) {
	ctx, db := t.Context(), s.DB("db")
	var id, rev string
	d.MaybeScanArgs(t, "id", &id)
	d.MaybeScanArgs(t, "rev", &rev)
	edit := func(doc *compat.Document, o UpdateOptions) string {
		return update(t, db, o, doc)[0] + "\n"
	}
	switch d.Cmd {
	case "create":
		must(t, s.Create(ctx, "db", CreateOptions{Partitioned: d.HasArg("partitioned")}))
	case "put":
		return edit(storagetest.Doc(t, id, rev, d.Input), UpdateOptions{})
	case "replicate":
		return edit(storagetest.Doc(t, id, rev, d.Input), UpdateOptions{Replicated: true})
	case "attach":
		doc := storagetest.Doc(t, id, rev, "{}")
		doc.Attachments = []compat.Attachment{upload(t, db.Attachments().Uploads(), "att", []byte(d.Input), nil)}
		return edit(doc, UpdateOptions{})
	case "purge":
		_, err := db.Purge(ctx, []IDRevs{{ID: id, Revs: []compat.Rev{parsedRev(t, rev)}}})
		must(t, err)
	case "limit":
		var n int64
		d.ScanArgs(t, "n", &n)
		must(t, db.Settings().SetRevsLimit(ctx, n))
	case "compact":
		must(t, db.Compact(ctx))
	default:
		d.Fatalf(t, "unknown command")
	}
	return ""
}

// feedText shows the rows of the feed. seen, if not nil, gets their sequences by the numbers of
// their updates.
func feedText(t *testing.T, db *DB, o ChangesOptions, seen map[uint64]Seq) (string, ChangesEnd) {
	t.Helper()
	var b strings.Builder
	end, err := db.Feed().Changes(t.Context(), o, func(c *Change) error {
		fmt.Fprintf(&b, "%d %s %v", c.Seq.N, c.ID, c.Revs)
		if c.Deleted {
			b.WriteString(" deleted")
		}
		if c.Doc != nil {
			fmt.Fprintf(&b, " %s %s", c.Doc.Rev, c.Doc.Body)
			if o.Conflicts {
				fmt.Fprintf(&b, " conflicts %v", c.Doc.Conflicts)
			}
		}
		b.WriteByte('\n')
		if seen != nil {
			seen[uint64(c.Seq.N)] = c.Seq.Seq
		}
		return nil
	})
	must(t, err)
	return b.String(), end
}

// keyDump tells what has changed in a store.
type keyDump struct {
	kv    kv.Store
	last  map[string]string
	blobs []string // their random ids, in the order in which they came
}

func (d *keyDump) changes(t *testing.T) string {
	t.Helper()
	now := map[string]string{}
	must(t, d.kv.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			now[string(it.Key())] = string(it.Value())
		}
		return it.Err()
	}))
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
	for _, key := range keys {
		d.noteBlob([]byte(key))
	}
	var b strings.Builder
	for _, key := range keys {
		value, is := now[key]
		old, was := d.last[key]
		switch {
		case !was && d.last != nil:
			fmt.Fprintf(&b, "+ %s = %s\n", d.key(key), d.value(key, value))
		case !is:
			fmt.Fprintf(&b, "- %s\n", d.key(key))
		case was && value != old:
			fmt.Fprintf(&b, "~ %s = %s\n", d.key(key), d.value(key, value))
		}
	}
	d.last = now
	return b.String()
}

// tagNames are the subspaces as docs/keyspace.md calls them.
var tagNames = map[keyspace.Tag]string{
	keyspace.TagSecurity: "SECURITY", keyspace.TagStats: "STATS", keyspace.TagAllDocs: "ALLDOCS",
	keyspace.TagChanges: "CHANGES",
	keyspace.TagRevs:    "REVS", keyspace.TagDocs: "DOCS", keyspace.TagHistory: "HISTORY", keyspace.TagLocal: "LOCAL",
	keyspace.TagAtt: "ATT", keyspace.TagAttRefs: "ATTREFS", keyspace.TagAttPending: "ATTPENDING",
	keyspace.TagPurges: "PURGES", keyspace.TagPartStats: "PARTSTATS",
	keyspace.TagRankIDs: "RANKIDS", keyspace.TagSeqBlocks: "SEQBLOCKS",
	keyspace.TagLastSeq: "LASTSEQ", keyspace.TagPurgeSeq: "PURGESEQ",
	keyspace.TagCountLog: "COUNTLOG", keyspace.TagDesigns: "DESIGNS", keyspace.TagTimes: "TIMES",
	keyspace.TagTombstones: "TOMBSTONES", keyspace.TagReplaced: "REPLACED",
}

// split takes a key apart: where it is, and what follows the tag.
func (d *keyDump) split(key []byte) (first int64, tag keyspace.Tag, rest []byte) {
	first, rest, err := tuple.ReadInt(key)
	if err != nil || first < keyspace.FirstPrefix {
		return first, 0, rest
	}
	n, rest, _ := tuple.ReadInt(rest)
	return first, keyspace.Tag(n), rest
}

// noteBlob gives the id of a blob its number.
func (d *keyDump) noteBlob(key []byte) {
	_, tag, rest := d.split(key)
	if tag != keyspace.TagAtt && tag != keyspace.TagAttRefs && tag != keyspace.TagAttPending {
		return
	}
	if id, _, err := tuple.ReadBytes(rest); err == nil && !slices.Contains(d.blobs, string(id)) {
		d.blobs = append(d.blobs, string(id))
	}
}

func (d *keyDump) key(key string) string {
	first, tag, rest := d.split([]byte(key))
	parts := []string{fmt.Sprint(first)}
	if first >= keyspace.FirstPrefix {
		parts = append(parts, tagNames[tag])
	}
	for len(rest) > 0 {
		seq, err := keyspace.ParseSeq(rest)
		below := tag == keyspace.TagSeqBlocks || tag == keyspace.TagCountLog
		if err == nil && len(rest) == keyspace.SeqSize &&
			(tag == keyspace.TagChanges || tag == keyspace.TagPurges || tag == keyspace.TagTombstones || below) {
			parts = append(parts, seqText(seq))
			break
		}
		var part string
		if part, rest = d.element(rest); part == "" {
			parts = append(parts, fmt.Sprintf("%x", rest))
			break
		}
		parts = append(parts, part)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// seqText is a sequence: its incarnation, the number of the commit and the place in it.
func seqText(s Seq) string {
	return fmt.Sprintf(
		"%d:%d.%d",
		s.Incarnation,
		binary.BigEndian.Uint64(s.Versionstamp[:]),
		binary.BigEndian.Uint16(s.Versionstamp[10:]),
	)
}

// element prints the first element of what is packed and gives the rest; "" if there is none.
func (d *keyDump) element(b []byte) (string, []byte) {
	if v, rest, err := tuple.ReadBytes(b); err == nil {
		return d.text(string(v)), rest
	}
	if v, rest, err := tuple.ReadString(b); err == nil {
		return strconv.QuoteToASCII(v), rest
	}
	if v, rest, err := tuple.ReadInt(b); err == nil {
		return fmt.Sprint(v), rest
	}
	if v, rest, err := tuple.ReadBool(b); err == nil {
		return fmt.Sprint(v), rest
	}
	return "", b
}

// counters are the subspaces whose values are 8 bytes, little-endian.
var counters = []keyspace.Tag{keyspace.TagStats, keyspace.TagAttRefs, keyspace.TagPartStats,
	keyspace.TagRankIDs, keyspace.TagSeqBlocks}

func (d *keyDump) value(key, value string) string {
	_, tag, rest := d.split([]byte(key))
	if strings.HasPrefix(key, string(keyspace.DatabasesPrefix())) {
		return "a record" // with a random uuid
	}
	if seq, err := keyspace.ParseSeq([]byte(value)); err == nil && len(value) == keyspace.SeqSize &&
		(tag == keyspace.TagLastSeq || tag == keyspace.TagPurgeSeq ||
			tag == keyspace.TagCountLog && len(rest) < keyspace.SeqSize ||
			tag == keyspace.TagDesigns) {
		return seqText(seq)
	}
	if len(value) == 8 && (slices.Contains(counters, tag) || key == string(keyspace.NextPrefixKey())) {
		return fmt.Sprint(int64(binary.LittleEndian.Uint64([]byte(value))))
	}
	return d.text(value)
}

// text prints bytes, with the numbers of blobs instead of their ids, hashes in hexadecimal digits,
// and what is long shortened.
func (d *keyDump) text(s string) string {
	if i := slices.Index(d.blobs, s); i >= 0 {
		return fmt.Sprintf("<blob %d>", i+1)
	}
	if len(s) == 16 && !isASCII(s) {
		return fmt.Sprintf("%x", s)
	}
	for i, id := range d.blobs {
		s = strings.ReplaceAll(s, id, fmt.Sprintf("<blob %d>", i+1))
	}
	if len(s) > 300 {
		return fmt.Sprintf("%s… (%d bytes)", strconv.QuoteToASCII(s[:60]), len(s))
	}
	return strconv.QuoteToASCII(s)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
