package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// texts are documents of about a kilobyte whose words are as frequent as those of a language.
type texts struct{ zipf *rand.Zipf }

func newTexts() *texts {
	return &texts{rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 5, 100_000)}
}

func (t *texts) next() string {
	var b strings.Builder
	for range 140 {
		fmt.Fprintf(&b, "w%dx ", t.zipf.Uint64())
	}
	return b.String()
}

// query is what both are asked: words that are all there, one of which is, or which follow each
// other.
type query struct {
	name  string
	kind  string
	words []string
}

var queries = []query{
	{"rare word", "and", []string{"w20000x"}},
	{"word of 1 % of the documents", "and", []string{"w900x"}},
	{"word of a tenth", "and", []string{"w90x"}},
	{"word of most documents", "and", []string{"w0x"}},
	{"AND with a rare word", "and", []string{"w0x", "w900x"}},
	{"AND of common words", "and", []string{"w0x", "w1x"}},
	{"OR of rare words", "or", []string{"w900x", "w1000x"}},
	{"OR of common words", "or", []string{"w0x", "w1x", "w2x"}},
	{"phrase of common words", "phrase", []string{"w0x", "w1x"}},
	{"phrase with a rare word", "phrase", []string{"w1x", "w900x"}},
	{"prefix", "prefix", []string{"w90"}},
}

// engine is one of those that are compared.
type engine interface {
	// built reports whether what was opened has an index already.
	built(ctx context.Context) (bool, error)
	// build indexes documents that are asked for one after the other.
	build(ctx context.Context, docs int, next func() string) (time.Duration, error)
	// ask gives the number of all hits of a query, having found the best ten.
	ask(ctx context.Context, q query) (total int64, err error)
	// bytes is what the index takes on disk.
	bytes() (int64, error)
	close() error
}

func main() {
	docs := flag.Int("docs", 100_000, "documents")
	dir := flag.String("dir", "", "where to build; a temporary directory is made there")
	lone := flag.Bool("alone", false, "without Bleve")
	keep := flag.Bool("keep", false, "build in -dir itself, leave it, and only ask what was built there before")
	flag.Parse()
	if err := run(*docs, *dir, *lone, *keep); err != nil {
		log.Fatal(err)
	}
}

// run compares the engines: it builds each index from the same texts, then measures each query. A
// row whose engines find different numbers of documents says so, because their times cannot be
// compared. With keep, dir holds indexes for the next run, and those that are there are not built
// again.
func run(docs int, dir string, lone, keep bool) (err error) {
	ctx := context.Background()
	if !keep {
		if dir, err = os.MkdirTemp(dir, "searchpeers"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	ours, err := newSettee(ctx, filepath.Join(dir, "settee"))
	if err != nil {
		return err
	}
	engines := []engine{ours}
	if !lone {
		bleve, err := newBleve(filepath.Join(dir, "bleve"))
		if err != nil {
			return err
		}
		engines = append(engines, bleve)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%d documents of 1 KB\tsettee\tcpu\tfirst\tbleve\tcpu\tfirst\n", docs)
	row := []string{"build, documents/s"}
	disk := []string{"disk, bytes/document"}
	for _, e := range engines {
		speed := "built before"
		if there, err := e.built(ctx); err != nil {
			return err
		} else if !there {
			took, err := e.build(ctx, docs, newTexts().next)
			if err != nil {
				return err
			}
			speed = fmt.Sprintf("%.0f", float64(docs)/took.Seconds())
		}
		row = append(row, speed, "", "")
		n, err := e.bytes()
		if err != nil {
			return err
		}
		disk = append(disk, fmt.Sprint(n/int64(docs)), "", "")
		runtime.GC()
	}
	fmt.Fprintln(out, strings.Join(row, "\t"))
	fmt.Fprintln(out, strings.Join(disk, "\t"))
	for _, q := range queries {
		row := []string{q.name}
		totals := map[int64]bool{}
		for _, e := range engines {
			took, total, err := measure(ctx, e, q)
			if err != nil {
				return err
			}
			totals[total] = true
			for _, d := range []time.Duration{took.p50, took.cpu, took.first} {
				row = append(row, d.Round(time.Microsecond).String())
			}
		}
		if len(totals) > 1 {
			row = append(row, fmt.Sprint("totals differ: ", totals))
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, e := range engines {
		if err := e.close(); err != nil {
			return err
		}
	}
	return nil
}

// times are the durations of a query: the median, processor time of the whole process on average,
// which depends less on what else the machine does, and what it took the first time.
type times struct{ p50, cpu, first time.Duration }

// measure asks a query once, and then for a while.
func measure(ctx context.Context, e engine, q query) (t times, total int64, err error) {
	start := time.Now()
	if total, err = e.ask(ctx, q); err != nil {
		return t, 0, err
	}
	t.first = time.Since(start)
	var all []time.Duration
	used, err := processorTime()
	if err != nil {
		return t, 0, err
	}
	for began := time.Now(); len(all) < 5 || time.Since(began) < time.Second && len(all) < 2000; {
		start := time.Now()
		if _, err := e.ask(ctx, q); err != nil {
			return t, 0, err
		}
		all = append(all, time.Since(start))
	}
	after, err := processorTime()
	slices.Sort(all)
	t.p50, t.cpu = all[len(all)/2], (after-used)/time.Duration(len(all))
	return t, total, err
}

// processorTime is what the process has used.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// size is what a directory takes.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
