package storage

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// crashFolds, in the environment, makes the test binary the process that is killed: a directory,
// and what the ids of its documents begin with.
const crashFolds = "SETTEE_CRASH_FOLDS"

func TestMain(m *testing.M) {
	if env := os.Getenv(crashFolds); env != "" {
		dir, session, _ := strings.Cut(env, " ")
		fmt.Fprintln(os.Stderr, crashChild(dir, session))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const crashWriters = 4

// openCrashStore opens a store in which the log of counts is folded after every few items, into
// boundaries and blocks of a few rows.
func openCrashStore(dir string, manual bool) (*Store, func() error, error) {
	engine, err := pebblekv.Open(dir, pebblekv.Options{MinFreeSpace: 1})
	if err != nil {
		return nil, nil, err
	}
	s, err := Open(context.Background(), Options{KV: engine, Manual: manual})
	if err != nil {
		return nil, nil, err
	}
	s.sizes = counts.Sizes{RankFan: 3, SeqBlockRows: 4, SeqBlockFan: 3, FoldItems: 3, ExactTimes: 3, Skipped: 3}
	return s, func() error {
		if err := s.Close(); err != nil {
			return err
		}
		return engine.Close()
	}, nil
}

// crashEdit is what a writer does to one document.
type crashEdit struct {
	id      string
	deleted bool
}

// crashEdits are those of the n-th transaction of a writer. Ids are scattered, so that all of the
// counts change.
func crashEdits(writer string, n int) (edits []crashEdit) {
	id := func(n, of int) string {
		h := fnv.New32a()
		fmt.Fprint(h, writer, n, of)
		return fmt.Sprintf("%08x-%s-%d-%d", h.Sum32(), writer, n, of)
	}
	switch n % 4 {
	case 0:
		for of := range 5 {
			edits = append(edits, crashEdit{id: id(n, of)})
		}
	case 1:
		edits = append(edits, crashEdit{id: id(n-1, 0)}, crashEdit{id: id(n-1, 1), deleted: true})
	case 2:
		edits = append(edits, crashEdit{id: id(n, 0)})
	case 3:
		edits = append(edits, crashEdit{id: id(n-3, 1)}, crashEdit{id: id(n-3, 2), deleted: true})
	}
	return edits
}

// crashChild writes until it is killed, and says on standard output what was acknowledged.
func crashChild(dir, session string) error {
	s, _, err := openCrashStore(dir, false)
	if err != nil {
		return err
	}
	db := s.DB("db")
	failed := make(chan error)
	for w := range crashWriters {
		go func() {
			writer, revs := fmt.Sprint(session, "w", w), map[string]compat.Rev{}
			for n := 0; ; n++ {
				var docs []*compat.Document
				for _, e := range crashEdits(writer, n) {
					d := docOf(e.id, revs[e.id], fmt.Sprintf(`{"n":%d}`, n))
					d.Deleted = e.deleted
					docs = append(docs, d)
				}
				results, err := db.Update(context.Background(), docs, UpdateOptions{})
				for i := range results {
					if results[i].Err != nil {
						err = results[i].Err
					}
					if revs[docs[i].ID] = results[i].Rev; docs[i].Deleted {
						delete(revs, docs[i].ID) // it is made anew
					}
				}
				if err == nil {
					_, err = fmt.Fprintf(os.Stdout, "%d %d.\n", w, n)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// TestCrashWhileFolding kills a process that writes and folds all the time, again and again on the
// same data. Each time the counts, with what is left of the log, agree with the rows: the store's
// check says so, and all that is answered from them is exact; the log goes on to be folded from
// where it was.
func TestCrashWhileFolding(t *testing.T) {
	rounds := 3
	if env := os.Getenv("SETTEE_CRASH_ROUNDS"); env != "" {
		var err error
		rounds, err = strconv.Atoi(env)
		must(t, err)
	}
	dir := t.TempDir()
	s, end, err := openCrashStore(dir, true)
	must(t, err)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	must(t, end())
	live := map[string]bool{} // what is acknowledged: whether the document is there
	left := 0                 // how often something of the log was left
	for round := range rounds {
		if round%10 == 9 {
			dir, live = t.TempDir(), map[string]bool{} // checks take longer as there is more
			s, end, err := openCrashStore(dir, true)
			must(t, err)
			must(t, s.Create(t.Context(), "db", CreateOptions{}))
			must(t, end())
		}
		session := fmt.Sprint("r", round)
		done := killedWhileFolding(t, dir, session)
		s, end, err := openCrashStore(dir, true)
		must(t, err)
		db := s.DB("db")
		found := verifyCounts(t, db)
		for w, n := range done {
			writer := fmt.Sprint(session, "w", w)
			for k := 0; k <= n+1; k++ {
				edits := crashEdits(writer, k)
				happened := k <= n || found[edits[0].id] != "" && found[edits[0].id] == fmt.Sprint(k)
				for _, e := range edits {
					if happened {
						live[e.id] = !e.deleted
					}
				}
			}
		}
		for id, there := range live {
			if (found[id] != "") != there {
				t.Errorf("%s: there %t, acknowledged as %t", id, found[id] != "", there)
			}
		}
		for id := range found {
			if !live[id] {
				t.Errorf("%s: nobody wrote it, or it was deleted", id)
			}
		}
		must(t, db.view(t.Context(), func(d *dbRead) error {
			rest, err := d.Rest()
			if rest.Added > 0 {
				left++
			}
			return err
		}))
		for more := true; more; {
			more, err = s.foldSome(t.Context(), "db")
			must(t, err)
		}
		verifyCounts(t, db)
		must(t, end())
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d kills, in %d of them something of the log was left; %d documents", rounds, left, len(live))
}

// killedWhileFolding runs a child for a moment, and returns the last transaction that each writer
// was told of.
func killedWhileFolding(t *testing.T, dir, session string) (done [crashWriters]int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashFolds+"="+dir+" "+session)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	for w := range done {
		done[w] = -1
	}
	kill := time.AfterFunc(time.Minute, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		if first {
			kill.Reset(time.Duration(20+rand.IntN(200)) * time.Millisecond)
		}
		var w, n int
		if text, whole := strings.CutSuffix(lines.Text(), "."); !whole {
			break // cut off by the kill
		} else if _, err := fmt.Sscanf(text, "%d %d", &w, &n); err != nil {
			t.Fatal(err)
		}
		done[w] = n
	}
	if _ = child.Wait(); child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", child.ProcessState)
	}
	return done
}

// verifyCounts checks the store, and holds all that is answered from counts against rows that are
// counted one by one. It returns the documents: the member n of each by id.
func verifyCounts(t *testing.T, db *DB) map[string]string {
	t.Helper()
	checkSized(t, db.store.kv, db.store.sizes)
	found := map[string]string{}
	var ids []string
	total := int64(-1)
	all := RangeOptions{Limit: -1, IncludeDocs: true}
	must(t, db.AllDocs(t.Context(), all, func(h ListHeader) error { total = h.Total; return nil },
		func(r *ListRow) error {
			ids = append(ids, r.ID)
			found[r.ID] = strings.TrimSuffix(strings.TrimPrefix(string(r.Doc.Body), `{"n":`), "}")
			return nil
		}))
	want(t, "total_rows", total, int64(len(ids)))
	var rows []UpdateSeq
	feed := func(o ChangesOptions, fn func(*Change)) ChangesEnd {
		end, err := db.Feed().Changes(t.Context(), o, func(c *Change) error { fn(c); return nil })
		must(t, err)
		return end
	}
	dead := int64(0)
	end := feed(ChangesOptions{Limit: -1}, func(c *Change) {
		rows = append(rows, c.Seq)
		if c.Deleted {
			dead++
		}
	})
	want(t, "pending at the end", end.Pending, int64(0))
	want(t, "rows of the feed", int64(len(rows)), int64(len(ids))+dead)
	info, err := db.Info(t.Context())
	must(t, err)
	want(t, "doc_count", info.DocCount, int64(len(ids)))
	want(t, "doc_del_count", info.DocDelCount, dead)
	for i := 0; i < len(ids); i += 1 + rand.IntN(len(ids)/40+1) {
		o := RangeOptions{Limit: 1, Start: at(ids[i])}
		must(t, db.AllDocs(t.Context(), o, func(h ListHeader) error {
			want(t, "offset of "+ids[i], h.Offset, int64(i))
			return nil
		}, func(*ListRow) error { return nil }))
	}
	for i := 0; i < len(rows); i += 1 + rand.IntN(len(rows)/40+1) {
		end := feed(ChangesOptions{Limit: 1, Since: rows[i].Seq}, func(c *Change) {
			want(t, "sequence number", c.Seq.N, rows[i+1].N)
		})
		want(t, "pending after a row", end.Pending, int64(max(len(rows)-i-2, 0)))
	}
	if !slices.IsSortedFunc(rows, func(a, b UpdateSeq) int { return int(int64(a.N) - int64(b.N)) }) {
		t.Error("numbers of sequences do not rise")
	}
	return found
}
