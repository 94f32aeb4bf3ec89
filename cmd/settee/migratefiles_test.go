package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

// couchFiles is where files of real CouchDBs are, with what those answered of them (see make.go
// there).
const couchFiles = "../../storage/couchfile/testdata/"

// unpackCouch gives a data directory of a CouchDB.
func unpackCouch(t *testing.T, version string) (data, answers string) {
	t.Helper()
	return unpackArchive(t, couchFiles+"couchdb-"+version+".tar.gz")
}

// unpackArchive unpacks one of those files.
func unpackArchive(t *testing.T, path string) (data, answers string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	return filepath.Join(dir, "data"), filepath.Join(dir, "answers.jsonl")
}

func migrateFiles(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	cmd := migrateCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&b)
	cmd.SetErr(io.Discard)
	cmd.SilenceUsage = true
	err = cmd.ExecuteContext(t.Context())
	return b.String(), err
}

// TestMigrateFiles: a server on what was read from the files of a CouchDB answers what that CouchDB
// answered, byte for byte: leaves with their lines and attachments, local documents, settings.
func TestMigrateFiles(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	for _, version := range []string{"3.5.0", "main"} {
		data, answers := unpackCouch(t, version)
		t.Run(version, func(t *testing.T) {
			target := t.TempDir()
			ini := filepath.Join(t.TempDir(), "couch.ini")
			require.NoError(t, os.WriteFile(ini, []byte("[couchdb]\nuuid = the-old-one\n"), 0o600))
			for range 2 { // the second time it finds everything there
				out, err := migrateFiles(t, "--from-data", data, "--data", target, "--config", ini)
				require.NoError(t, err, out)
			}
			base, stop := startServe(t, target)
			defer stop()
			require.Contains(t, string(get(t, base+"/")), `"uuid":"the-old-one"`)
			answersAs(t, base, answers)
		})
		t.Run(version+" into a server", func(t *testing.T) {
			base, stop := startServe(t, t.TempDir())
			defer stop()
			for range 2 {
				out, err := migrateFiles(t, "--from-data", data, "--to", base)
				require.NoError(t, err, out)
			}
			answersAs(t, base, answers)
		})
	}
}

// answersAs holds a server to what a CouchDB answered.
func answersAs(t *testing.T, base, answers string) {
	f, err := os.Open(answers)
	require.NoError(t, err)
	defer f.Close()
	compared := 0
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var a struct {
			DB                          string
			Security, Info, Leaf, Local json.RawMessage
			RevsLimit                   json.RawMessage `json:"revs_limit"`
		}
		require.NoError(t, json.Unmarshal(s.Bytes(), &a))
		db := base + "/" + url.QueryEscape(a.DB)
		switch {
		case a.Security != nil:
			require.Equal(t, string(a.Security), string(get(t, db+"/_security")))
		case a.RevsLimit != nil:
			require.Equal(t, string(a.RevsLimit), string(get(t, db+"/_revs_limit")))
		case a.Info != nil:
			var want, got struct {
				Docs    int64 `json:"doc_count"`
				Deleted int64 `json:"doc_del_count"`
				Props   struct{ Partitioned bool }
			}
			require.NoError(t, json.Unmarshal(a.Info, &want))
			require.NoError(t, json.Unmarshal(get(t, db), &got))
			require.Equal(t, want, got, a.DB)
		default:
			doc, query := a.Leaf, "?revs=true&attachments=true&rev="
			if doc == nil {
				doc = a.Local
			}
			var named struct {
				ID  string `json:"_id"`
				Rev string `json:"_rev"`
			}
			require.NoError(t, json.Unmarshal(doc, &named))
			path := strings.Replace(url.PathEscape(named.ID), "_design%2F", "_design/", 1)
			if a.Local != nil {
				path, query = named.ID, "?local="
			}
			// Floats as the recorded server prints them, which depends on what it was built with.
			v, err := ejson.Parse(doc)
			require.NoError(t, err)
			require.Equal(t, string(v.AppendJSON(nil)), string(get(t, db+"/"+path+query+named.Rev)))
			compared++
		}
	}
	require.NoError(t, s.Err())
	require.Greater(t, compared, 400)
}

// get is a server's answer, as JSON, without the line feed at its end.
func get(t *testing.T, address string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	r.Header.Set("Accept", "application/json")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, w.StatusCode, "%s: %s", address, text)
	return bytes.TrimSpace(text)
}

// TestMigrateDamagedFiles: a damage ends the command with status 1 and is named; with --skip-damaged
// the rest is there, and --check-only finds it and writes nothing.
func TestMigrateDamagedFiles(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	data, _ := unpackCouch(t, "3.5.0")
	out, err := migrateFiles(t, "--from-data", data, "--check-only")
	require.NoError(t, err, out)

	files, err := filepath.Glob(filepath.Join(data, "shards", "*", "from_none.*.couch"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	summary := []byte{131, 104, 2, 109} // of a document
	for at := bytes.Index(whole, summary); at >= 0; {
		whole[at+len(summary)+8] ^= 0x40
		next := bytes.Index(whole[at+1:], summary)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	require.NoError(t, os.WriteFile(files[0], whole, 0o600))

	target := t.TempDir()
	out, err = migrateFiles(t, "--from-data", data, "--check-only", "--data", target)
	require.ErrorIs(t, err, errDamaged)
	require.Contains(t, out, "checksum does not match")
	require.Contains(t, out, files[0])
	entries, err := os.ReadDir(target)
	require.NoError(t, err)
	require.Empty(t, entries)

	_, err = migrateFiles(t, "--from-data", data, "--data", target, "--db", "from_none")
	require.ErrorIs(t, err, errDamaged)
	out, err = migrateFiles(t, "--from-data", data, "--data", target, "--db", "from_none", "--skip-damaged")
	require.ErrorIs(t, err, errDamaged)
	base, stop := startServe(t, target)
	defer stop()
	var info struct {
		Docs int64 `json:"doc_count"`
	}
	require.NoError(t, json.Unmarshal(get(t, base+"/from_none"), &info))
	require.Greater(t, strings.Count(out, "checksum does not match"), 30)
	require.Greater(t, info.Docs, int64(30), "the other shard is whole")

	running, stopRunning := startServe(t, t.TempDir())
	defer stopRunning()
	_, err = migrateFiles(t, "--from-data", data, "--to", running, "--db", "from_none", "--skip-damaged")
	require.ErrorIs(t, err, errDamaged)
	there := info
	require.NoError(t, json.Unmarshal(get(t, running+"/from_none"), &info))
	require.Equal(t, there, info)
	// an error of the server ends the command, and is told
	_, err = migrateFiles(t, "--from-data", data, "--to", strings.Replace(running, "://", "://joe:hush@", 1))
	require.ErrorContains(t, err, "401")
	require.NotContains(t, err.Error(), "hush")
}

// TestMigrateNoFiles: a directory that has no databases is no CouchDB.
func TestMigrateNoFiles(t *testing.T) {
	_, err := migrateFiles(t, "--from-data", t.TempDir(), "--data", t.TempDir())
	require.ErrorContains(t, err, "has no databases")
	_, err = migrateFiles(t, "--data", t.TempDir())
	require.Error(t, err)
}

// TestCheckpointsGoOn: what a client or a replicator is given behind the checkpoint that it has of a
// CouchDB is, after the migration, what that CouchDB gave; stopped and repeated, the command leaves
// checkpoints out rather than lead past a document.
func TestCheckpointsGoOn(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	data, answers := unpackArchive(t, couchFiles+"checkpoints-3.5.0.tar.gz")
	target := t.TempDir()
	for range 2 {
		out, err := migrateFiles(t, "--from-data", data, "--data", target)
		require.NoError(t, err, out)
	}
	base, stop := startServe(t, target)
	defer stop()
	checkpointsGoOn(t, base, answers)
	running, stopRunning := startServe(t, t.TempDir())
	defer stopRunning()
	out, err := migrateFiles(t, "--from-data", data, "--to", running)
	require.NoError(t, err, out)
	checkpointsGoOn(t, running, answers)

	late := t.TempDir()
	out, err = migrateFiles(t, "--from-data", data, "--data", late, "--db", "marks")
	require.NoError(t, err, out)
	changed := t.TempDir()
	require.NoError(t, os.CopyFS(changed, os.DirFS(late)))
	otherBase, otherStop := startServe(t, changed)
	for _, row := range locals(t, otherBase, "marks") {
		status, _, _ := ask(t, "admin:secret", "DELETE", otherBase+"/marks/"+row[0]+"?rev="+row[1], "")
		require.Equal(t, 200, status)
	}
	otherStop()
	out, err = migrateFiles(t, "--from-data", data, "--data", changed, "--db", "marks")
	require.NoError(t, err, out)
	otherBase, otherStop = startServe(t, changed)
	defer otherStop()
	left := locals(t, otherBase, "marks")
	require.Len(t, left, 1, "only that of a push to here: the database was there before")
	require.Equal(t, "_local/pushed", left[0][0])
}

// checkpointsGoOn asks a server what came behind each checkpoint, of the old CouchDB's answers.
func checkpointsGoOn(t *testing.T, base, answers string) {
	type row struct {
		ID      string
		Deleted bool
		Changes []struct{ Rev string }
	}
	read := func(text []byte) (rows map[string]row) {
		var feed struct{ Results []row }
		require.NoError(t, json.Unmarshal(text, &feed))
		rows = map[string]row{}
		for _, r := range feed.Results {
			slices.SortFunc(r.Changes, func(a, b struct{ Rev string }) int { return strings.Compare(a.Rev, b.Rev) })
			rows[r.ID] = r
		}
		return rows
	}
	checkpoint := func(id string) (seqs []string) {
		var doc struct {
			Last    string `json:"last_seq"`
			Source  string `json:"source_last_seq"`
			History []struct {
				Last     string `json:"last_seq"`
				Recorded string `json:"recorded_seq"`
			}
		}
		require.NoError(t, json.Unmarshal(get(t, base+"/marks/"+id), &doc))
		require.NotEmpty(t, doc.History)
		latest := doc.History[0]
		require.Equal(t, doc.Last+doc.Source, latest.Last+latest.Recorded, "what is compared is what is followed")
		first := doc.History[len(doc.History)-1]
		return []string{doc.Last + doc.Source, first.Last + first.Recorded}
	}
	f, err := os.Open(answers)
	require.NoError(t, err)
	defer f.Close()
	sizes := map[int]bool{}
	for lines := json.NewDecoder(f); ; {
		var a struct {
			DB, Checkpoint string
			Changes        json.RawMessage
		}
		err := lines.Decode(&a)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		want := read(a.Changes)
		seqs := checkpoint(a.Checkpoint)
		require.Equal(t, want, read(get(t, base+"/marks/_changes?style=all_docs&since="+seqs[0])), a.Checkpoint)
		oldest := read(get(t, base+"/marks/_changes?style=all_docs&since="+seqs[1]))
		require.GreaterOrEqual(t, len(oldest), len(want))
		sizes[len(want)] = true
	}
	require.GreaterOrEqual(t, len(sizes), 8)
	require.Contains(t, string(get(t, base+"/marks/_local/pushed")), `"last_seq":57`)
	// The other end's copy is of the source's sequences, and stays as it was.
	pulled := regexp.MustCompile(`"source_last_seq":"([^"]+)"`).FindSubmatch(
		get(t, base+"/pulled/_local_docs?include_docs=true"))
	require.Len(t, pulled, 2)
	// A follower that kept such a sequence by itself is refused rather than led past a document.
	since := url.QueryEscape(string(pulled[1]))
	status, _, _ := ask(t, "admin:secret", "GET", base+"/marks/_changes?since="+since, "")
	require.Equal(t, 400, status)
}

// locals are the ids and revisions of the local documents of a database.
func locals(t *testing.T, base, db string) (rows [][2]string) {
	t.Helper()
	var list struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	require.NoError(t, json.Unmarshal(get(t, base+"/"+db+"/_local_docs"), &list))
	for _, r := range list.Rows {
		rows = append(rows, [2]string{r.ID, r.Value.Rev})
	}
	return rows
}
