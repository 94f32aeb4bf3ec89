package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"

	"github.com/settee-db/settee/conformance"
)

var errDiffers = errors.New("some steps differ")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "transcripts:", err)
		os.Exit(1)
	}
}

// tool is one call of the command.
type tool struct {
	out       io.Writer
	addr      string // host:port of the server
	reference string // compare only: host:port of the server that is right
	only      string
	showJSON  bool
	report    conformance.Report
	differs   bool
	changes   changes // changed only
}

// run performs the scenarios of the files against one server (record, replay) or two (compare). All
// files are performed even if some differ; errDiffers at the end sets the exit status. Reports go
// to out, except for record, whose result is the files; where a file cannot be performed, or ctx
// ends, they cover the steps that were.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: transcripts record|changed|replay|compare [-only NAME] [-json] URL [REFERENCE] FILE…")
	}
	t := &tool{out: out, changes: changes{}}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&t.only, "only", "", "perform only the scenarios of this name")
	flags.BoolVar(&t.showJSON, "json", false, "show also steps that agree as JSON but not byte for byte")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	each := map[string]func(context.Context, *conformance.File, *conformance.Scenario) error{
		"record": t.record, "changed": t.collect, "replay": t.judge, "compare": t.judge,
	}[args[0]]
	if each == nil {
		return fmt.Errorf("there is no %q", args[0])
	}
	servers, files := []*string{&t.addr}, flags.Args()
	if args[0] == "compare" {
		servers = append(servers, &t.reference)
	}
	if len(files) <= len(servers) {
		return errors.New("a URL or the files are missing")
	}
	for i, addr := range servers {
		u, err := url.Parse(files[i])
		if err != nil || u.Host == "" {
			return fmt.Errorf("%q is no URL", files[i])
		}
		*addr = u.Host
	}
	if args[0] == "changed" {
		version, err := versionOf(ctx, t.addr)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "What CouchDB %s at %s answers otherwise than recorded\n\n", version, t.addr)
	}
	var failed error
	for _, path := range files[len(servers):] {
		if args[0] == "changed" { // whose report comes at the end
			fmt.Fprintln(os.Stderr, "performing", path)
		}
		if failed = t.file(ctx, path, each); failed != nil {
			break
		}
	}
	t.changes.write(out)
	if args[0] != "record" {
		t.report.Write(out)
	}
	if failed == nil && t.differs {
		failed = errDiffers
	}
	return failed
}

// file performs the scenarios of one file; a recording is written back when all of them went
// through.
func (t *tool) file(
	ctx context.Context,
	path string,
	each func(context.Context, *conformance.File, *conformance.Scenario) error,
) error {
	f, err := conformance.Load(path)
	if err != nil {
		return err
	}
	before, err := f.Text()
	if err != nil {
		return err
	}
	for _, sc := range f.Scenarios {
		if t.only != "" && sc.Name != t.only {
			continue
		}
		if err := each(ctx, f, sc); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	after, err := f.Text()
	if err != nil || string(after) == string(before) {
		return err
	}
	return os.WriteFile(path, after, 0o644)
}

func (t *tool) record(ctx context.Context, f *conformance.File, sc *conformance.Scenario) error {
	fmt.Fprintf(t.out, "recording %s/%s\n", f.Area, sc.Name)
	return conformance.Record(ctx, t.addr, sc)
}

// judge performs a scenario, against its recording or against a second server, and prints what
// differs. Answers that agree as JSON but not byte for byte pass and are counted apart.
func (t *tool) judge(ctx context.Context, f *conformance.File, sc *conformance.Scenario) error {
	var results []conformance.StepResult
	var err error
	if t.reference == "" {
		results, err = conformance.Replay(ctx, t.addr, sc)
	} else {
		results, err = conformance.Compare(ctx, t.addr, t.reference, sc)
	}
	if err != nil {
		return err
	}
	var count conformance.Count
	for _, r := range results {
		count.Add(r.Verdict, false)
		if r.Verdict == conformance.Differs || t.showJSON && r.Verdict == conformance.JSON {
			fmt.Fprintf(t.out, "%s/%s%s\n", f.Area, sc.Name, r.Diff())
		}
	}
	t.differs = t.differs || count.Differs > 0
	word := "ok"
	if count.Differs > 0 {
		word = "DIFFERS"
	}
	fmt.Fprintf(t.out, "%-8s %s/%s  %d exact, %d json, %d differ\n", word, f.Area, sc.Name, count.Exact, count.JSON,
		count.Differs)
	t.report.Add(t.addr, f.Area, count)
	return nil
}
