package storage

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// noise is incompressible data.
func noise(size int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(size))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
}

func upload(t testing.TB, u *Uploads, name string, data []byte, change func(*Upload)) compat.Attachment {
	t.Helper()
	o := Upload{Name: name, Type: "application/octet-stream", Length: -1}
	if change != nil {
		change(&o)
	}
	att, err := u.Add(context.Background(), o, bytes.NewReader(data))
	must(t, err)
	return att
}

// putAtts writes a document with attachments.
func putAtts(t testing.TB, db *DB, id, rev string, atts ...compat.Attachment) string {
	t.Helper()
	d := doc(t, id, rev, `{"has":"attachments"}`)
	d.Attachments = atts
	return update(t, db, UpdateOptions{}, d)[0]
}

func stubOf(name string) compat.Attachment {
	return compat.Attachment{Name: name, Source: compat.SourceStub}
}

// readAtt reads an attachment of a revision, the winner if rev is empty.
func readAtt(t testing.TB, db *DB, id, rev, name string, o AttachmentRange) ([]byte, error) {
	t.Helper()
	var open docread.OpenOptions
	if rev != "" {
		open.Rev = parsedRev(t, rev)
	}
	d, err := db.Open(context.Background(), id, open)
	must(t, err)
	for i := range d.Attachments {
		if d.Attachments[i].Name == name {
			var b bytes.Buffer
			err := db.Attachments().Read(context.Background(), &d.Attachments[i], o, &b)
			return b.Bytes(), err
		}
	}
	t.Fatalf("%s has no attachment %q", id, name)
	return nil, nil
}

func wantAtt(t testing.TB, db *DB, id, rev, name string, data []byte) {
	t.Helper()
	got, err := readAtt(t, db, id, rev, name, AttachmentRange{To: -1})
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Errorf("%s/%s: %d bytes differ from the %d stored", id, name, len(got), len(data))
	}
}

// attKeys counts the keys that attachments have.
func attKeys(t testing.TB, db *DB) (chunks, refs, pending int) {
	t.Helper()
	must(t, db.view(context.Background(), func(d *dbRead) (err error) {
		for _, c := range []struct {
			tag keyspace.Tag
			n   *int
		}{{keyspace.TagAtt, &chunks}, {keyspace.TagAttRefs, &refs}, {keyspace.TagAttPending, &pending}} {
			var rows int64
			if rows, err = countKeys(d.R, d.Keys.Sub(nil, c.tag), nil, nil); err != nil {
				return err
			}
			*c.n = int(rows)
		}
		return nil
	}))
	return chunks, refs, pending
}

func wantAttKeys(t testing.TB, db *DB, chunks, refs, pending int) {
	t.Helper()
	c, r, p := attKeys(t, db)
	want(t, "chunks, counts, pending", [3]int{c, r, p}, [3]int{chunks, refs, pending})
}

func TestAttachmentSizes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		for _, size := range []int{
			0, 1, blobs.Memory, blobs.Memory + 1, keyspace.MaxValue, keyspace.MaxValue + 1,
			blobs.Batch, blobs.Batch + 1, 3*blobs.Batch - 5,
		} {
			data := noise(size)
			u := db.Attachments().Uploads()
			att := upload(t, u, "a", data, nil)
			if att.Digest != md5.Sum(data) || att.Length != int64(size) || att.EncodedLength != int64(size) {
				t.Errorf("size %d: %+v", size, att)
			}
			if small := att.Ref == ""; small != (size <= blobs.Memory) {
				t.Errorf("size %d is small: %v", size, small)
			}
			id := fmt.Sprint("size", size)
			putAtts(t, db, id, "", att)
			must(t, u.Discard(t.Context()))
			wantAtt(t, db, id, "", "a", data)
			for range 5 {
				from := rand.Int64N(int64(size) + 1)
				to := from + rand.Int64N(int64(size)-from+1)
				part, err := readAtt(t, db, id, "", "a", AttachmentRange{From: from, To: to})
				must(t, err)
				if !bytes.Equal(part, data[from:to]) {
					t.Errorf("size %d: bytes %d to %d differ", size, from, to)
				}
			}
		}
	})
}

func TestAttachmentGzip(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	text := []byte(strings.Repeat("compressible text ", 100_000))
	u := db.Attachments().Uploads()
	att := upload(t, u, "t", text, func(o *Upload) { o.Compress = 8 })
	if att.Encoding != compat.EncodingGzip || att.Length != int64(len(text)) || att.EncodedLength >= att.Length {
		t.Errorf("%+v", att)
	}
	big := upload(t, u, "noise", noise(1<<20), func(o *Upload) { o.Compress = 8 })
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(text)
	w.Close()
	ready := upload(t, u, "g", packed.Bytes(), func(o *Upload) { o.Encoding, o.Compress = compat.EncodingGzip, 8 })
	if ready.Length != int64(packed.Len()) || ready.EncodedLength != ready.Length ||
		ready.Digest != md5.Sum(packed.Bytes()) {
		t.Errorf("%+v", ready)
	}
	putAtts(t, db, "doc", "", att, big, ready)
	wantAtt(t, db, "doc", "", "g", packed.Bytes())
	for name, data := range map[string][]byte{"t": text, "noise": noise(1 << 20), "g": text} {
		got, err := readAtt(t, db, "doc", "", name, AttachmentRange{To: -1, Gunzip: true})
		must(t, err)
		if !bytes.Equal(got, data) {
			t.Errorf("%s differs after gunzip", name)
		}
	}
	raw, err := readAtt(t, db, "doc", "", "t", AttachmentRange{To: -1})
	must(t, err)
	if md5.Sum(raw) != att.Digest || len(raw) != int(att.EncodedLength) {
		t.Error("digest is not that of the stored bytes")
	}
}

func TestUploadRefusals(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	data := noise(2 * blobs.Batch)
	wrong, size := md5.Sum([]byte("other")), int64(len(data))
	tooLarge := compat.NewError(compat.KindAttachmentTooLarge, "n")
	otherLength := func(how string) error {
		return compat.NewError(compat.KindBadRequest, "attachment "+how+" than expected")
	}
	for name, c := range map[string]struct {
		o    Upload
		want error
	}{
		"limit":           {Upload{Name: "n", Limit: 100_000, Length: -1}, tooLarge},
		"limit by length": {Upload{Name: "n", Limit: 1, Length: size}, tooLarge},
		"shorter":         {Upload{Length: size + 1}, otherLength("shorter")},
		"longer":          {Upload{Length: size - 1}, otherLength("longer")},
		"digest":          {Upload{Length: -1, Digest: &wrong}, compat.ErrAttachmentBytes},
	} {
		u := db.Attachments().Uploads()
		_, err := u.Add(t.Context(), c.o, bytes.NewReader(data))
		if fmt.Sprint(err) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		must(t, u.Discard(t.Context()))
	}
	wantAttKeys(t, db, 0, 0, 0)
	broken := errors.New("connection reset")
	u := db.Attachments().Uploads()
	_, err := u.Add(t.Context(), Upload{Length: -1}, io.MultiReader(bytes.NewReader(data), errReader{broken}))
	wantError(t, err, broken)
	must(t, u.Discard(t.Context()))
	wantAttKeys(t, db, 0, 0, 0)
}

// An attachment that was announced, and whose bytes never came, must not get into a document.
func TestAttachmentWithoutBytes(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	for rev, replicated := range map[string]bool{"": false, "1-a": true} {
		d := doc(t, "doc", rev, `{}`)
		d.Attachments = []compat.Attachment{
			{Name: "n", Type: "text/plain", Source: compat.SourceFollows, Length: 3, EncodedLength: 3},
		}
		_, err := db.Update(t.Context(), []*compat.Document{d}, UpdateOptions{Replicated: replicated})
		wantError(t, err, compat.ErrAttachmentBytes)
	}
	wantAttKeys(t, db, 0, 0, 0)
}

type errReader struct{ err error }

// Read implements io.Reader.
func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestAttachmentReferences: bytes stay as long as a revision names them, and somewhat longer for
// those who are reading.
func TestAttachmentReferences(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		now := time.Now()
		db.store.now = func() time.Time { return now }
		collect := func() {
			now = now.Add(blobs.ReleasedLease + time.Second)
			n, err := db.store.CollectAttachments(t.Context())
			must(t, err)
			want(t, "collected", n, 1)
		}
		big, small := noise(200_000), []byte("small")
		u := db.Attachments().Uploads()
		rev1 := putAtts(t, db, "d", "", upload(t, u, "big", big, nil), upload(t, u, "small", small, nil))
		wantAttKeys(t, db, 4, 2, 0)
		rev2 := putAtts(t, db, "d", rev1, stubOf("big"), stubOf("small"))
		rev3 := putAtts(t, db, "d", rev2, stubOf("big")) // small is replaced history now
		wantAttKeys(t, db, 4, 2, 0)
		wantAtt(t, db, "d", rev1, "small", small)
		wantAtt(t, db, "d", rev3, "big", big)
		must(t, db.Compact(t.Context()))
		wantAttKeys(t, db, 4, 1, 1)
		collect()
		wantAttKeys(t, db, 3, 1, 0)
		wantAtt(t, db, "d", "", "big", big)
		copied := open(t, db, "d", docread.OpenOptions{}).Attachments
		putAtts(t, db, "copy", "", copied...) // COPY shares the bytes
		wantAttKeys(t, db, 3, 1, 0)
		rev4 := remove(t, db, "d", rev3)
		must(t, db.Compact(t.Context()))
		wantAtt(t, db, "copy", "", "big", big)
		_, err := db.Purge(t.Context(), []IDRevs{{ID: "d", Revs: []compat.Rev{parsedRev(t, rev4)}}})
		must(t, err)
		wantAttKeys(t, db, 3, 1, 0)
		_, err = db.Purge(
			t.Context(),
			[]IDRevs{{ID: "copy", Revs: []compat.Rev{open(t, db, "copy", docread.OpenOptions{}).Rev}}},
		)
		must(t, err)
		wantAttKeys(t, db, 3, 0, 1)
		gone := copied[0]
		// a download that had begun
		must(t, db.Attachments().Read(t.Context(), &gone, AttachmentRange{To: -1}, io.Discard))
		collect()
		wantAttKeys(t, db, 0, 0, 0)
		wantError(t, db.Attachments().Read(t.Context(), &gone, AttachmentRange{To: -1}, io.Discard), compat.ErrMissing)
		d := doc(t, "late", "", `{}`)
		d.Attachments = []compat.Attachment{gone}
		_, err = db.Update(t.Context(), []*compat.Document{d}, UpdateOptions{})
		wantError(t, err, compat.KindConflict)
	})
}

// TestUploadLeases: what no document claims is collected after its lease, and cannot be claimed
// then; slow requests keep theirs.
func TestUploadLeases(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s, err := Open(t.Context(), Options{KV: memkv.New(), Manual: true, Now: func() time.Time { return now }})
	must(t, err)
	defer s.Close()
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	lost, slow := db.Attachments().Uploads(), db.Attachments().Uploads()
	abandoned := upload(t, lost, "a", noise(blobs.Memory+3), nil)
	first := upload(t, slow, "b", noise(blobs.Memory+1), nil)
	now = now.Add(blobs.Lease / 2)
	second := upload(t, slow, "c", noise(blobs.Memory+2), nil) // renews the first one's lease, too
	now = now.Add(blobs.Lease/2 + time.Second)
	n, err := s.CollectAttachments(t.Context())
	must(t, err)
	want(t, "collected", n, 1)
	putAtts(t, db, "slow", "", first, second)
	wantAtt(t, db, "slow", "", "b", noise(blobs.Memory+1))
	d := doc(t, "late", "", `{}`)
	d.Attachments = []compat.Attachment{abandoned}
	_, err = db.Update(t.Context(), []*compat.Document{d}, UpdateOptions{})
	wantError(t, err, compat.KindConflict)
	_, err = lost.Add(t.Context(), Upload{Length: -1}, bytes.NewReader(noise(blobs.Memory+3)))
	wantError(t, err, compat.KindConflict)
	now = now.Add(24 * time.Hour)
	n, err = s.CollectAttachments(t.Context())
	must(t, err)
	want(t, "collected", n, 0)
	wantAtt(t, db, "slow", "", "c", noise(blobs.Memory+2))
	checkStore(t, s.kv)
}

// TestUploadAndDeletedDatabase: an upload does not go on in another database of the same name.
func TestUploadAndDeletedDatabase(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	u := db.Attachments().Uploads()
	streamed := upload(t, u, "a", noise(blobs.Memory+3), nil)
	must(t, db.store.Delete(t.Context(), "db"))
	must(t, db.store.Create(t.Context(), "db", CreateOptions{}))
	d := doc(t, "doc", "", `{}`)
	d.Attachments = []compat.Attachment{streamed}
	_, err := db.Update(t.Context(), []*compat.Document{d}, UpdateOptions{})
	wantError(t, err, compat.KindConflict)
	_, err = u.Add(t.Context(), Upload{Length: -1}, bytes.NewReader(noise(blobs.Memory+3)))
	wantError(t, err, compat.ErrNoDatabase)
	must(t, u.Discard(t.Context()))
	wantAttKeys(t, db, 0, 0, 0)
}

// TestUploadCosts: a small attachment takes no transaction, a large one takes one for each batch.
func TestUploadCosts(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	counting := kvtest.NewCounting(db.store.kv)
	db.store.kv = counting
	for size, commits := range map[int]int64{
		1000: 0, blobs.Memory: 0, blobs.Memory + 1: 1, blobs.Batch: 1, 2*blobs.Batch + 1: 3,
	} {
		counting.Reset()
		u := db.Attachments().Uploads()
		upload(t, u, "a", noise(size), nil)
		if got := counting.Counts().Commits; got != commits {
			t.Errorf("%d bytes took %d transactions, want %d", size, got, commits)
		}
		must(t, u.Discard(t.Context()))
	}
}
