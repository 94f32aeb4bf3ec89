package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/cmd/bench/barepebble"
	"github.com/settee-db/settee/cmd/bench/measure"
)

// options are the flags.
type options struct {
	seconds      float64
	rounds       int
	quick        bool
	only         string
	pidA, pidB   int
	dataA, dataB string
	timers       int
	workers      int
	node         string
	jsonFile     string
	soak         time.Duration
	limits       bool
	limitsDir    string
	bare         string
}

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command is the command line of the benchmark, a program of its own so that the server's binary
// does not carry it.
func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "bench URL_A [URL_B] | bench --soak DURATION URL | bench --limits",
		Short: "Measure a server, alternately with another one: speed, memory, disk",
		Long: "Measure a server, alternately with another one (settee or CouchDB): speed, memory, disk.\n" +
			"URLs are http://user:password@host:port. The databases made for it are deleted at the end.",
		Args:          cobra.MaximumNArgs(2),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return o.run(ctx, args, cmd)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.seconds, "seconds", 1.5, "how long a round of a workload takes on a server")
	f.IntVar(&o.rounds, "rounds", 5, "rounds that count, besides one to warm up")
	f.BoolVar(&o.quick, "quick", false,
		"small databases and short rounds, to see whether it works (unless given: --seconds 0.3 --rounds 1)")
	f.StringVar(&o.only, "only", "", "regular expression of the workloads to run")
	f.IntVar(&o.timers, "timers", 0,
		"pending timers of event functions while others are measured (default 1000000, with --quick 10000)")
	f.IntVar(&o.workers, "event-workers", 0, "workers of event functions (default 2)")
	f.StringVar(&o.node, "node", "",
		"command of Node, for the program in the place of event functions where there are none (default: one in Go)")
	f.IntVar(&o.pidA, "pid-a", 0, "process of server A (default: found by the port, on this machine)")
	f.IntVar(&o.pidB, "pid-b", 0, "process of server B")
	f.StringVar(&o.dataA, "data-a", "", "data directory of server A, for its disk use")
	f.StringVar(&o.dataB, "data-b", "", "data directory of server B")
	f.StringVar(&o.jsonFile, "json", "",
		"write the whole report to this file as well (-: to the output instead of the table)")
	f.DurationVar(&o.soak, "soak", 0,
		"load the server for so long with all kinds of requests, and print a line for each minute (such as 2h)")
	f.BoolVar(&o.limits, "limits", false,
		"start settee, or the program that SETTEE_BINARY names, and compare it with net/http and Pebble alone")
	f.StringVar(&o.limitsDir, "limits-dir", "",
		"where --limits puts its data for the time of the run (default: the system's temporary directory)")
	f.StringVar(&o.bare, "bare", "", "serve a constant answer on this address")
	_ = f.MarkHidden("bare") // fails for unknown flags only
	return cmd
}

// run chooses between the three things that the program does, a comparison, a soak and the limits,
// and checks the options of the first. What was measured until an error is written all the same: a
// run takes hours.
func (o options) run(ctx context.Context, args []string, cmd *cobra.Command) error {
	if o.bare != "" {
		return measure.ServeBare(ctx, o.bare, cmd.InOrStdin())
	}
	if o.limits != (len(args) == 0) {
		return errors.New("name one or two servers, or none with --limits")
	}
	if o.soak != 0 {
		return o.runSoak(ctx, args, cmd.OutOrStdout())
	}
	common := measure.Options{Quick: o.quick, Rounds: o.rounds, Timers: o.timers, Workers: o.workers,
		Node: o.node, Progress: cmd.ErrOrStderr()}
	if o.quick && !cmd.Flags().Changed("seconds") {
		o.seconds = 0.3
	}
	if o.quick && !cmd.Flags().Changed("rounds") {
		common.Rounds = 1
	}
	if o.seconds <= 0 || common.Rounds < 1 || o.timers < 0 || o.workers < 0 {
		return errors.New("--seconds, --rounds, --timers and --event-workers must be positive")
	}
	common.Duration = time.Duration(o.seconds * float64(time.Second))
	if o.only != "" {
		var err error
		if common.Only, err = regexp.Compile(o.only); err != nil {
			return err
		}
	}
	report, err := o.measure(ctx, common, args)
	if report != nil {
		err = errors.Join(err, o.write(report, cmd.OutOrStdout()))
	}
	return err
}

// runSoak loads one server for a long time.
func (o options) runSoak(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 || o.soak < 0 || o.only != "" || o.jsonFile != "" {
		return errors.New("--soak takes a time and one server, and goes with --quick, --data-a and --pid-a only")
	}
	t, err := target("A", args[0], o.pidA, o.dataA)
	if err != nil {
		return err
	}
	return measure.Soak{Target: t, Duration: o.soak, Quick: o.quick, Out: out}.Run(ctx)
}

// target is a server to be measured; pid 0 has its process looked for.
func target(name, rawURL string, pid int, data string) (*measure.Target, error) {
	t, err := measure.ParseTarget(name, rawURL)
	if err != nil {
		return nil, err
	}
	if t.DataDir = data; pid != 0 {
		t.PID = pid
	}
	return t, nil
}

// measure runs the comparison of one or two servers, or that with net/http and Pebble alone.
func (o options) measure(ctx context.Context, common measure.Options, args []string) (*measure.Report, error) {
	if o.limits {
		return o.againstLimits(ctx, common)
	}
	for i, rawURL := range args {
		name, pid, data, to := "A", o.pidA, o.dataA, &common.A
		if i == 1 {
			name, pid, data, to = "B", o.pidB, o.dataB, &common.B
		}
		t, err := target(name, rawURL, pid, data)
		if err != nil {
			return nil, err
		}
		*to = t
	}
	return measure.Run(ctx, common)
}

// againstLimits runs the server, and this program as the bare one.
func (o options) againstLimits(ctx context.Context, common measure.Options) (*measure.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server := cmp.Or(os.Getenv("SETTEE_BINARY"), "settee")
	l := &measure.Limits{
		Options: common,
		Dir:     o.limitsDir,
		Serve: func(dir, listen, user, password string) *exec.Cmd {
			c := exec.Command(server, "serve", "--data", dir, "--listen", listen)
			c.Env = append(os.Environ(), "COUCHDB_USER="+user, "COUCHDB_PASSWORD="+password)
			return c
		},
		Bare: func(listen string) *exec.Cmd { return exec.Command(self, "--bare", listen) },
		Raw:  func(dir string) (measure.RawStore, error) { return barepebble.Open(dir) },
	}
	return l.Run(ctx)
}

// write prints the report as a table, or as JSON in its place if the file is "-"; another file gets
// the JSON as well.
func (o options) write(report *measure.Report, out io.Writer) error {
	if o.jsonFile == "-" {
		return report.WriteJSON(out)
	}
	err := report.WriteTable(out)
	if o.jsonFile == "" {
		return err
	}
	file, cerr := os.Create(o.jsonFile)
	if cerr != nil {
		return errors.Join(err, cerr)
	}
	err = errors.Join(err, report.WriteJSON(file), file.Close())
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
