package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// TestAnyDamageIsTold damages a store that has everything which a store can have, one file at a
// time, at random. After each damage the store as it opens and reads, settee check and settee
// salvage either have all that was acknowledged or say that something is missing, and a command
// that says so fails. Of a store without damage none says anything.
//
// SETTEE_DAMAGE_ROUNDS is how many damages there are.
func TestAnyDamageIsTold(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	killed, stopped := everythingStored(t)
	rounds, err := strconv.Atoi(os.Getenv("SETTEE_DAMAGE_ROUNDS"))
	if err != nil {
		rounds = 60
		if testing.Short() {
			rounds = 6
		}
	}
	bases := []*damageable{newDamageable(t, killed), newDamageable(t, stopped)}
	require.Len(t, bases[0].salvaged, 1, "a function that was deployed")
	require.Empty(t, bases[1].salvaged)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	told := map[string]int{}
	for round := range rounds {
		base := bases[round%len(bases)]
		file := base.anyFile(random)
		how := slices.Sorted(maps.Keys(damages))[random.IntN(len(damages))]
		damaged := copyDir(t, base.dir)
		damages[how](t, random, filepath.Join(damaged, storeDir, file))
		what := fmt.Sprintf("seed %d, round %d: %s %s", seed, round, how, file)
		for tool, said := range base.tell(t, what, damaged) {
			if said {
				told[tool]++
			}
		}
		require.NoError(t, os.RemoveAll(damaged))
	}
	t.Logf("of %d damages were told: %v", rounds, told)
	require.Len(t, told, 3, "each tool tells of some damages")
}

// damageable is a store and what it has.
type damageable struct {
	dir      string
	rows     map[string]string // all keys
	contents map[string]string // as contents gives it, without what a salvage leaves out
	salvaged []string          // what a salvage says without damage
	files    map[string][]string
}

func newDamageable(t *testing.T, dir string) *damageable {
	t.Helper()
	d := &damageable{dir: dir, files: map[string][]string{}}
	files, err := os.ReadDir(filepath.Join(dir, storeDir))
	require.NoError(t, err)
	for _, f := range files {
		kind := strings.TrimLeft(f.Name(), "0123456789")
		kind = strings.TrimRight(strings.TrimRight(kind, "0123456789"), ".-")
		d.files[kind] = append(d.files[kind], f.Name())
	}
	for _, kind := range []string{".sst", ".blob", ".log", "MANIFEST", "OPTIONS", "SETTEE-MARK", "SETTEE-FORMAT"} {
		require.NotEmpty(t, d.files[kind], "%s in %v", kind, d.files)
	}
	var said string
	d.rows, said = allRows(t, copyDir(t, dir))
	require.Empty(t, said)
	d.contents = withoutCheckpoints(contents(t, copyDir(t, dir)))
	for _, beside := range []string{" expires", " was ", "answers/"} {
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(d.contents)), func(key string) bool {
			return strings.Contains(key, beside)
		}), beside)
	}
	var out bytes.Buffer
	err = check(t.Context(), appOptions{engine: "pebble", dataDir: copyDir(t, dir)}, 0, &out, io.Discard)
	require.NoError(t, err, &out)
	target, text, err := runSalvage(t, copyDir(t, dir))
	require.Equal(t, d.contents, contents(t, target))
	d.salvaged = complaints(text)
	require.Equal(t, len(d.salvaged) == 0, err == nil, text)
	return d
}

// anyFile is a file, of each kind as often.
func (d *damageable) anyFile(random *rand.Rand) string {
	kinds := slices.Sorted(maps.Keys(d.files))
	names := d.files[kinds[random.IntN(len(kinds))]]
	return names[random.IntN(len(names))]
}

// tell returns which tools say that something is missing.
func (d *damageable) tell(t *testing.T, what, damaged string) map[string]bool {
	t.Helper()
	served := copyDir(t, damaged)
	rows, said := allRows(t, served)
	if said == "" && !maps.Equal(rows, d.rows) {
		t.Errorf("%s: the store opens with %d of %d rows, some of them others, and says nothing", what, len(rows),
			len(d.rows))
	}
	checked := copyDir(t, damaged)
	var out bytes.Buffer
	checkErr := check(context.Background(), appOptions{engine: "pebble", dataDir: checked}, 0, &out, io.Discard)
	if checkErr == nil && !maps.Equal(rows, d.rows) {
		t.Errorf("%s: check says nothing but %q, and not all is there: %s", what, &out, said)
	}
	target, text, err := runSalvage(t, damaged)
	complains := slices.ContainsFunc(complaints(text), func(line string) bool {
		return !slices.Contains(d.salvaged, line)
	})
	if err == nil && complains {
		t.Errorf("%s: salvage ends as if all was there\n%s", what, text)
	}
	if _, missing := os.Stat(filepath.Join(target, storeDir)); missing == nil {
		if !complains {
			require.Equal(t, d.contents, contents(t, target), "%s: salvage says nothing of it", what)
		}
		require.NoError(t, os.RemoveAll(target))
	}
	require.NoError(t, os.RemoveAll(served))
	require.NoError(t, os.RemoveAll(checked))
	return map[string]bool{"serve": said != "", "check": checkErr != nil, "salvage": complains}
}

// complaints are the lines about what is missing.
func complaints(out string) (lines []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "file ") || strings.HasPrefix(line, "lost ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// allRows opens a store and reads all of it. said is what it says about something that is missing
// or cannot be read.
func allRows(t *testing.T, dir string) (rows map[string]string, said string) {
	t.Helper()
	rows = map[string]string{}
	store, err := pebblekv.Open(filepath.Join(dir, storeDir), pebblekv.Options{
		MinFreeSpace: 1, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return rows, err.Error()
	}
	defer store.Close() // of a damaged store it may fail
	err = store.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff, 0xff}, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			rows[string(it.Key())] = string(it.Value())
		}
		return it.Err()
	})
	if err != nil {
		return rows, err.Error()
	}
	return rows, strings.Join(append(store.Losses(), store.Damaged()...), "\n")
}

// copyDirAtRest copies the store of a running server while it writes nothing: what is in a log, and
// not acknowledged, may be missing.
func copyDirAtRest(t *testing.T, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(to, storeDir), os.DirFS(filepath.Join(dir, storeDir))))
		time.Sleep(time.Second)
		now, err := os.ReadFile(filepath.Join(dir, storeDir, "SETTEE-MARK"))
		require.NoError(t, err)
		then, err := os.ReadFile(filepath.Join(to, storeDir, "SETTEE-MARK"))
		require.NoError(t, err)
		if bytes.Equal(now, then) {
			return to
		}
	}
}

// everythingStored makes a store with all that a store can have, in tables, blob files and a log:
// as a process leaves it that was killed, and one that was stopped.
func everythingStored(t *testing.T) (killed, stopped string) {
	t.Helper()
	dir := t.TempDir()
	base, stop := startServe(t, dir)
	do := func(method, path, body string) {
		t.Helper()
		status, answer, _ := ask(t, "admin:password", method, base+path, body)
		require.Less(t, status, http.StatusBadRequest, "%s %s: %v", method, path, answer)
	}
	do("PUT", "/a", "")
	do("PUT", "/b?partitioned=true", "")
	do("PUT", "/target", "")
	do("PUT", "/a/_design/d", `{"views":{"v":{"map":"function(d){emit(d.n,1)}","reduce":"_sum"}},
		"indexes":{"s":{"index":"function(d){index('t',d.t||'')}"}}}`)
	do("POST", "/a/_index", `{"index":{"fields":["n"]}}`)
	do("POST", "/a/_index", `{"index":{},"type":"auto"}`)
	do("POST", "/a/_index", `{"index":{},"type":"text"}`)
	do("PUT", "/a/_security", `{"admins":{"names":["u"]},"members":{"roles":["r"]}}`)
	do("PUT", "/a/_local/l", `{"x":1}`)
	do("PUT", "/_users/org.couchdb.user:u", `{"name":"u","type":"user","roles":[],"password":"p"}`)
	do("POST", "/_eventing/api/v1/functions/f", `{"appname":"f","appcode":"function OnUpdate(d,m){}",
		"depcfg":{"source_bucket":"a","buckets":[]},"settings":{}}`)
	random := rand.New(rand.NewPCG(5, 6))
	write := func(from, to int) {
		t.Helper()
		for _, revs := range []string{"1-a", "1-b"} {
			var docs, parts []string
			for i := from; i < to; i++ {
				if revs == "1-b" && i%5 > 0 {
					continue // others have no conflicts
				}
				size := []int{20, 20, 300, 12 << 10, 70 << 10}[i%5]
				if revs == "1-b" {
					size = 30
				}
				docs = append(docs, fmt.Sprintf(`{"_id":"%03d","_rev":"%s%031d","n":%d,"t":"%s","_deleted":%v}`,
					i, revs, i, i, randomText(random, size), i%7 == 6))
				parts = append(parts, fmt.Sprintf(`{"_id":"p%d:%s%d","n":%d}`, i%3, revs[2:], i, i))
			}
			do("POST", "/a/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`)
			do("POST", "/b/_bulk_docs", `{"docs":[`+strings.Join(parts, ",")+`]}`)
		}
		do("PUT", fmt.Sprintf("/a/att%d/f", from), randomText(random, 30<<10))
		do("POST", "/_replicate", `{"source":"a","target":"target"}`)
		for path, body := range map[string]string{
			"/a/_design/d/_view/v": "", "/a/_design/d/_search/s?q=t:a*": "", "/a/_find": `{"selector":{"n":{"$gt":3}}}`,
		} {
			method := "GET"
			if body != "" {
				method = "POST"
			}
			do(method, path, body)
		}
	}
	write(0, 25)
	keepBeside(t, base, "first")
	stop()
	require.NoError(t, openSmall(t, dir).Close()) // tables of what the log has
	base, stop = startServe(t, dir)
	write(25, 40)
	stop()
	stopped = copyDir(t, dir)
	base, stop = startServe(t, dir)
	do("POST", "/_eventing/api/v1/functions/f/deploy?wait=60s", "")
	keepBeside(t, base, "later")
	killed = copyDirAtRest(t, dir)
	stop()
	return killed, stopped
}

// keepBeside stores what is kept beside documents: times at which they expire, replaced revisions
// with attachments, answers to requests that are sent again; and settings of a database.
func keepBeside(t *testing.T, base, name string) {
	t.Helper()
	do := func(request, body string, headers ...string) string {
		t.Helper()
		return mustAsk(t, base, request, body, headers...)
	}
	do("PUT /kept"+name, "")
	do("PUT /kept"+name+"/_history", `{"history":"1000y"}`)
	do("PUT /kept"+name+"/_auto_purge", `{"deleted_document_ttl":"300_days"}`)
	for _, id := range []string{"expires", "put-off", "does-not", "deleted"} {
		do("PUT /kept"+name+"/"+id, `{"n":0}`, "X-Settee-Expires", "2100-01-01T00:00:00Z")
		file := do("PUT /kept"+name+"/"+id+"/file?rev="+winnerOf(t, base, name, id), strings.Repeat(id, 40_000))
		require.Contains(t, file, `"ok":true`)
		do("PATCH /kept"+name+"/"+id, `{"n":1}`, "Content-Type", "application/merge-patch+json",
			"Idempotency-Key", name+id)
	}
	for id, time := range map[string]string{"expires": "2101-01-01T00:00:00Z", "put-off": "2102-01-01T00:00:00Z"} {
		do("PATCH /kept"+name+"/"+id, `{"n":2}`, "Content-Type", "application/merge-patch+json",
			"X-Settee-Expires", time)
	}
	do("DELETE /kept"+name+"/deleted?rev="+winnerOf(t, base, name, "deleted"), "")
}

// winnerOf is the current revision of a document of keepBeside.
func winnerOf(t *testing.T, base, name, id string) string {
	t.Helper()
	_, doc, _ := ask(t, "admin:password", "GET", base+"/kept"+name+"/"+id, "")
	return doc.(map[string]any)["_rev"].(string)
}

// damages are what happens to files.
var damages = map[string]func(t *testing.T, random *rand.Rand, path string){
	"deleted": func(t *testing.T, _ *rand.Rand, path string) { require.NoError(t, os.Remove(path)) },
	"truncated": func(t *testing.T, random *rand.Rand, path string) {
		require.NoError(t, os.Truncate(path, random.Int64N(size(t, path)+1)))
	},
	"exchanged": func(t *testing.T, random *rand.Rand, path string) {
		others, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+filepath.Ext(path)))
		require.NoError(t, err)
		b, err := os.ReadFile(others[random.IntN(len(others))])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o600))
	},
	"longer": func(t *testing.T, random *rand.Rand, path string) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(b, randomText(random, 1+random.IntN(500))...), 0o600))
	},
	"flipped": func(t *testing.T, random *rand.Rand, path string) {
		overwrite(t, random, path, func(b []byte) {
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			}
		})
	},
	"zeroed": func(t *testing.T, random *rand.Rand, path string) {
		overwrite(t, random, path, func(b []byte) {
			at := random.IntN(len(b))
			clear(b[at:min(len(b), at+random.IntN(9000)+1)])
		})
	},
	"garbage": func(t *testing.T, random *rand.Rand, path string) {
		overwrite(t, random, path, func(b []byte) {
			at := random.IntN(len(b))
			for i := at; i < min(len(b), at+random.IntN(9000)+1); i++ {
				b[i] = byte(random.Uint32())
			}
		})
	},
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

func overwrite(t *testing.T, random *rand.Rand, path string, change func([]byte)) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	if len(b) > 0 {
		change(b)
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
}
