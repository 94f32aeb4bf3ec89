//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	couch, data   string
	settee, store string
	binary        string
	docs          int
	fillOnly      bool
}

func main() {
	var o options
	flag.StringVar(&o.couch, "couchdb", "", "URL of a CouchDB, with an administrator's name and password")
	flag.StringVar(&o.data, "data", "", "data directory of that CouchDB")
	flag.StringVar(&o.settee, "listen", "127.0.0.1:23980", "where the settee is to listen")
	flag.StringVar(&o.store, "store", "", "new data directory of the settee (default: a temporary one)")
	flag.StringVar(&o.binary, "binary", "bin/settee", "the settee")
	flag.IntVar(&o.docs, "docs", 1_000_000, "documents")
	flag.BoolVar(&o.fillOnly, "fill-only", false, "only write the documents that are missing")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "movefiles:", err)
		os.Exit(1)
	}
}

// run fills, migrates, starts the settee, and compares.
func run(ctx context.Context, o options) error {
	if o.couch == "" || o.data == "" && !o.fillOnly {
		return errors.New("-couchdb and -data are needed")
	}
	couch := &server{base: o.couch}
	begun := time.Now()
	written, err := fill(ctx, couch, o.docs)
	if err != nil {
		return err
	}
	if written > 0 {
		fmt.Printf("filled: %d batches in %s\n", written, time.Since(begun).Round(time.Millisecond))
	}
	if o.fillOnly {
		return nil
	}
	if o.store == "" {
		if o.store, err = os.MkdirTemp("", "movefiles"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(o.store) }() // what is left is in the temporary directory
	}
	if err := o.migrate(ctx); err != nil {
		return err
	}
	stop, err := o.serve(ctx)
	if err != nil {
		return err
	}
	begun = time.Now()
	settee := &server{base: "http://admin:secret@" + o.settee}
	compared, err := compare(ctx, couch, settee)
	fmt.Printf("compared: %d documents, %d leaf revisions in %s\n", compared.documents, compared.leaves,
		time.Since(begun).Round(time.Millisecond))
	if err == nil {
		err = compareCheckpoints(ctx, couch, settee)
	}
	return errors.Join(err, stop())
}

// migrate runs the command, and prints its time, processor time and peak memory.
func (o *options) migrate(ctx context.Context) error {
	begun := time.Now()
	cmd := exec.CommandContext(ctx, o.binary, "migrate", "--from-data", o.data, "--data", o.store, "--db", database)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	took, used := time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	peak := int64(0)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = int64(usage.Maxrss) / 1024 //nolint:unconvert // it is an int32 on some
	}
	fmt.Printf("migrated: %s, %s of processors (%.0f documents a second of one), %d MB of memory at most\n",
		took.Round(time.Millisecond), used.Round(time.Millisecond), float64(o.docs)/used.Seconds(), peak)
	return nil
}

// serve starts the settee and waits until it answers.
func (o *options) serve(ctx context.Context) (stop func() error, err error) {
	log, err := os.Create(filepath.Join(o.store, "movefiles.log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.binary, "serve", "--data", o.store, "--listen", o.settee)
	cmd.Env = append(os.Environ(), "COUCHDB_USER=admin", "COUCHDB_PASSWORD=secret")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() error {
		return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait(), log.Close())
	}
	for range 600 {
		r, err := http.Get("http://" + o.settee + "/_up")
		if err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK {
			return stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, errors.Join(errors.New("the settee does not answer, see "+log.Name()), stop())
}
