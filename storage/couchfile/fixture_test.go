package couchfile

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// unpack gives a directory with what make.go has packed: data, the files of a CouchDB, and
// answers.jsonl, what it said of them.
func unpack(t testing.TB, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}

// answer is a line of answers.jsonl.
type answer struct {
	DB                          string
	Security, Info, Leaf, Local json.RawMessage
	RevsLimit                   int64 `json:"revs_limit"`
}

// body is a document's text without its special members.
func body(t testing.TB, doc []byte) string {
	t.Helper()
	v, err := ejson.Parse(doc)
	require.NoError(t, err)
	text := []byte("{")
	for key, value := range v.Members() {
		if strings.HasPrefix(key.Text(), "_") {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(key.AppendJSON(text), ':')
		text = value.AppendJSON(text)
	}
	return string(append(text, '}'))
}

// expected is what a server says of its databases, in a form that what is read can be compared with.
func expected(t testing.TB, path string) map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	lines := map[string]bool{}
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var a answer
		require.NoError(t, json.Unmarshal(s.Bytes(), &a))
		switch {
		case a.Security != nil:
			lines[fmt.Sprintf("%s security %s", a.DB, a.Security)] = true
		case a.RevsLimit != 0:
			lines[fmt.Sprintf("%s revs_limit %d", a.DB, a.RevsLimit)] = true
		case a.Info != nil:
			var info struct {
				Docs int64 `json:"doc_count"`
				Del  int64 `json:"doc_del_count"`
			}
			require.NoError(t, json.Unmarshal(a.Info, &info))
			lines[fmt.Sprintf("%s counts %d %d", a.DB, info.Docs, info.Del)] = true
		case a.Local != nil:
			var doc struct {
				ID  string `json:"_id"`
				Rev string `json:"_rev"`
			}
			require.NoError(t, json.Unmarshal(a.Local, &doc))
			lines[fmt.Sprintf("%s local %s %s %s", a.DB, doc.ID, doc.Rev, body(t, a.Local))] = true
		case a.Leaf != nil:
			lines[a.DB+" leaf "+leafLine(t, a.Leaf)] = true
		}
	}
	require.NoError(t, s.Err())
	require.NotEmpty(t, lines)
	return lines
}

// attachmentLine is an attachment: its bytes are those that a client gets.
func attachmentLine(name, kind, digest string, revpos int64, data []byte) string {
	return fmt.Sprintf("%s %s %s %d %x", name, kind, digest, revpos, md5.Sum(data))
}

func leafLine(t testing.TB, leaf []byte) string {
	t.Helper()
	var doc struct {
		ID        string `json:"_id"`
		Deleted   bool   `json:"_deleted"`
		Revisions struct {
			Start int64
			IDs   []string
		} `json:"_revisions"`
		Attachments map[string]struct {
			ContentType, Digest string
			Kind                string `json:"content_type"`
			RevPos              int64
			Data                []byte
		} `json:"_attachments"`
	}
	require.NoError(t, json.Unmarshal(leaf, &doc))
	atts := map[string]string{}
	for name, a := range doc.Attachments {
		atts[name] = attachmentLine(name, a.Kind, a.Digest, a.RevPos, a.Data)
	}
	return fmt.Sprint(doc.ID, doc.Deleted, doc.Revisions.Start, doc.Revisions.IDs, body(t, leaf), atts)
}

// read gives what expected gives, of files.
func read(t testing.TB, dir string) map[string]bool {
	t.Helper()
	layout, err := Directories([]string{dir}, "_dbs")
	require.NoError(t, err)
	require.Empty(t, layout.Damages)
	lost := func(d *Damage) error { return d }
	lines := map[string]bool{}
	for _, d := range layout.Databases {
		var docs, deleted int64
		for i := range d.Shards {
			s := &d.Shards[i]
			require.Len(t, s.Files, 1)
			f, damages, err := Open(s.Files[0])
			require.NoError(t, err)
			require.Empty(t, damages)
			info := f.Info()
			docs, deleted = docs+info.Documents, deleted+info.Deleted
			lines[fmt.Sprintf("%s revs_limit %d", d.Name, info.RevsLimit)] = true
			security, err := f.Security()
			require.NoError(t, err)
			lines[fmt.Sprintf("%s security %s", d.Name, security)] = true
			require.NoError(t, f.Locals(func(l Local) error {
				if !strings.HasPrefix(l.ID, "_local/purge-") && !strings.HasPrefix(l.ID, "_local/shard-sync-") {
					lines[fmt.Sprintf("%s local %s 0-%s %s", d.Name, l.ID, l.Rev, body(t, l.Body))] = true
				}
				return nil
			}, lost))
			require.NoError(t, f.Revisions(0, func(r *Revision) error {
				require.True(t, d.Has(s, r.ID), r.ID)
				lines[d.Name+" leaf "+readLine(t, f, r)] = true
				return nil
			}, lost))
			require.NoError(t, f.Close())
		}
		lines[fmt.Sprintf("%s counts %d %d", d.Name, docs, deleted)] = true
	}
	return lines
}

func readLine(t testing.TB, f *File, r *Revision) string {
	t.Helper()
	atts := map[string]string{}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		data, err := io.ReadAll(f.Bytes(a))
		require.NoError(t, err)
		require.Len(t, data, int(a.EncodedLength))
		if a.Encoding == compat.EncodingGzip {
			z, err := gzip.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			data, err = io.ReadAll(z)
			require.NoError(t, err)
		}
		require.Len(t, data, int(a.Length))
		digest := "md5-" + base64.StdEncoding.EncodeToString(a.Digest[:])
		atts[a.Name] = attachmentLine(a.Name, a.Type, digest, a.RevPos, data)
	}
	var ids []string
	for i, hash := range r.Revs.IDs {
		if int64(i) == f.Info().RevsLimit { // the server shows no more than that, even if the file has more
			break
		}
		ids = append(ids, string(compat.AppendRevHash(nil, hash)))
	}
	return fmt.Sprint(r.ID, r.Deleted, r.Revs.Start, ids, string(r.Body), atts)
}

// TestReadsWhatTheServerSays: the files of real CouchDBs have every leaf revision, with body, line and
// attachments, local document and setting that the server answered, and nothing else. The databases
// are written with each compression and checksum, compacted and not, in shards, split and partitioned,
// with conflicts, deletions, stemmed lines, odd revisions and purges. (What checkpoints-3.5.0.tar.gz has
// beside them is for cmd/settee's TestCheckpointsGoOn.)
func TestReadsWhatTheServerSays(t *testing.T) {
	archives, err := filepath.Glob("testdata/couchdb-*.tar.gz")
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			dir := unpack(t, archive)
			want, got := expected(t, filepath.Join(dir, "answers.jsonl")), read(t, filepath.Join(dir, "data"))
			for line := range want {
				require.True(t, got[line], "missing: %.300s", line)
			}
			for line := range got {
				require.True(t, want[line], "too much: %.300s", line)
			}
		})
	}
}
