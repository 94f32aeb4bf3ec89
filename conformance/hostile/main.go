package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/settee-db/settee/conformance"
)

// options are the flags.
type options struct {
	attack   string
	memory   string
	scale    float64
	duration time.Duration
	together int
	url      string
	pid      int
	table    string
	get, put time.Duration
	list     bool
}

// main parses the flags and runs the attacks. The exit status is 1 if an attack was not survived;
// the binary that was built for the server is removed in any case.
func main() {
	var o options
	flag.StringVar(&o.attack, "attack", "", "regular expression of the attacks to run")
	flag.StringVar(&o.memory, "memory", "512MB", "what the server may have, its workers included")
	flag.Float64Var(&o.scale, "scale", 1, "of sizes and numbers")
	flag.DurationVar(&o.duration, "duration", 0, "all attacks together, in a random mix, for so long")
	flag.IntVar(&o.together, "together", 4, "attacks at once in a mix")
	flag.StringVar(&o.url, "url", "", "attack this server instead: http://admin:password@host:port")
	flag.IntVar(&o.pid, "pid", 0, "process of the server at -url, whose memory and descriptors are read")
	flag.StringVar(&o.table, "table", "", "write the table to this file, as Markdown")
	flag.DurationVar(&o.get, "get", 250*time.Millisecond,
		"bound of the 99th percentile of the innocents' GET, 0 for none")
	flag.DurationVar(&o.put, "put", 500*time.Millisecond, "the same of their PUT")
	flag.BoolVar(&o.list, "list", false, "list the attacks and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	conformance.RemoveBinary()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// run starts the server, or takes the one at -url, and measures the innocents before any attack, so
// that each attack is compared with a calm server. Failures are gathered and told at the end: one
// attack's damage does not hide the next.
func (o options) run(ctx context.Context) error {
	list, err := o.chosen()
	if err != nil {
		return err
	}
	if o.list {
		for _, x := range list {
			fmt.Printf("%-32s %s\n", x.name, x.shows)
		}
		return nil
	}
	memory, err := bytesOf(o.memory)
	if err != nil {
		return err
	}
	var t *target
	if o.url == "" {
		t, err = startTarget(ctx, memory)
	} else {
		t, err = foreignTarget(ctx, o.url, o.pid)
	}
	if err != nil {
		return err
	}
	c := &campaign{t: t, scale: o.scale, getBound: o.get, putBound: o.put, out: os.Stdout, patience: memoryTime}
	if err = c.begin(ctx, calmTime); err == nil && o.duration > 0 {
		err = c.mix(ctx, list, o.duration, o.together)
	} else if err == nil {
		err = c.each(ctx, list)
	}
	c.end(ctx)
	if o.table != "" {
		err = errors.Join(err, os.WriteFile(o.table, []byte(c.table()), 0o600))
	}
	if len(c.failed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d failures:\n  %s", len(c.failed), strings.Join(c.failed, "\n  ")))
	}
	if err == nil {
		fmt.Println("passed")
	}
	return err
}

// chosen are the attacks that -attack names.
func (o options) chosen() (list []attack, err error) {
	name, err := regexp.Compile(o.attack)
	if err != nil {
		return nil, err
	}
	for _, x := range attacks() {
		if name.MatchString(x.name) && (o.url == "" || !x.own) {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no attack is called %s", o.attack)
	}
	return list, nil
}

// bytesOf reads a size: a number, or one with MB or GB after it, which are powers of two here.
func bytesOf(size string) (int64, error) {
	number, unit := strings.TrimRight(size, "MGB"), int64(1)
	switch size[len(number):] {
	case "":
	case "MB":
		unit = 1 << 20
	case "GB":
		unit = 1 << 30
	default:
		return 0, fmt.Errorf("%q is no size: 512MB, 1GB", size)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no size: 512MB, 1GB", size)
	}
	return n * unit, nil
}
