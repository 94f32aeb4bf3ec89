package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
	"github.com/settee-db/settee/storage/salvage"
)

// salvageCommand is "settee salvage", the last resort for a store that no longer opens.
func salvageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "salvage SOURCE_DIR TARGET_DIR",
		Short: "Bring back what can be read of a damaged data directory into a new one",
		Long: `Bring back what can be read of a damaged data directory into a new one.

Files of the store that are missing, broken off or changed are passed over; everything else is read, block by
block. Documents are written anew with their conflicts, deletions, attachments and lines of revisions, with the time
at which they expire, and with those replaced revisions that are kept for a time. What is lost is listed, a line each. A file of which something cannot be read, and a loss, ends the command with status 1:
documents that nothing but such a file named are not listed. SOURCE_DIR is not changed; no server may use it.
TARGET_DIR must not have a store. It needs about three times the space of the data while this runs.

Sequences of the databases begin anew, and checkpoints of replications are left out: whoever follows a database is
given all of it again. The times for which replaced revisions and deleted documents are kept begin anew, too. Event
functions are there, undeployed. Not there are indexes, which are built again, jobs such as replications that no document
names, replaced revisions that nothing but a compaction keeps waiting, and what event functions keep beside their code.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := salvager{source: args[0], target: args[1], out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr()}
			return s.run(cmd.Context())
		},
	}
}

// storeDir is the embedded engine's directory below a data directory.
const storeDir = "pebble"

type salvager struct {
	source, target string
	out, progress  io.Writer
	damages        int   // of files
	losses         int64 // that are known
}

// run reads what it can of the damaged store into a scratch store and writes the new store from
// that. The target is removed if that fails, so that half a store is never taken for a whole one.
// Damage that was found ends in an error although the result is usable: a script must not go on as
// if nothing had happened.
func (s *salvager) run(ctx context.Context) (err error) {
	target := filepath.Join(s.target, storeDir)
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s: there is a store already", s.target), err)
	}
	if err := os.MkdirAll(s.target, 0o750); err != nil {
		return err
	}
	scratch := filepath.Join(s.target, "salvage.tmp")
	if err := os.RemoveAll(scratch); err != nil { // what a run that was stopped has left
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := s.read(ctx, scratch); err != nil {
		return err
	}
	if err := s.write(ctx, scratch, target); err != nil {
		return errors.Join(err, os.RemoveAll(target))
	}
	if err := s.copySettings(); err != nil {
		return err
	}
	if s.damages > 0 || s.losses > 0 {
		return fmt.Errorf("%s has all that could be read, which may be less than there was: %d damages of files, "+
			"%d known losses", s.target, s.damages, s.losses)
	}
	return nil
}

// read copies what can be read of the files into the store scratch.
func (s *salvager) read(ctx context.Context, scratch string) error {
	bar := countBar(s.progress, "reading keys")
	r, err := pebblekv.Recover(ctx, filepath.Join(s.source, storeDir), scratch,
		func(keys, _ int64) { _ = bar.Set64(keys) })
	_ = bar.Finish() // only the terminal
	if err != nil {
		return err
	}
	for _, d := range r.Damages {
		fmt.Fprintf(s.out, "file %s\n", describe(d))
	}
	fmt.Fprintf(s.out, "read %d keys of %d tables and %d logs, %d damages\n", r.Keys, r.Tables, r.Logs, len(r.Damages))
	s.damages = len(r.Damages)
	return nil
}

func describe(d kv.Damage) string {
	if d.Blocks > 1 {
		return fmt.Sprintf("%s: %d blocks cannot be read: %s", d.File, d.Blocks, d.What)
	}
	return d.File + ": " + d.What
}

// write brings the databases of the store scratch into the new store, and checks that.
func (s *salvager) write(ctx context.Context, scratch, target string) (err error) {
	log := commandLog(s.progress)
	from, err := pebblekv.Open(scratch, pebblekv.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if _, err := format.Open(ctx, from, keyspace.HeadKey(), format.This); err != nil {
		return err
	}
	engine, err := pebblekv.Open(target, pebblekv.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	store, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	if err != nil {
		return err
	}
	err = salvage.Run(ctx, salvage.Options{
		From: from,
		To:   store,
		Lost: func(l salvage.Loss) { s.lost(l.String()) },
		Done: s.done,
	})
	if err == nil {
		err = errors.Join(s.functions(ctx, from, engine), s.answers(ctx, from, engine))
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	return checkStore(ctx, engine, s.out, s.progress)
}

// functions brings back event functions, undeployed: their timers, and how far they have come,
// belong to databases as they were.
func (s *salvager) functions(ctx context.Context, from, to kv.Store) error {
	before, after := registry.New(from, registry.Hooks{}), registry.New(to, registry.Hooks{})
	records, _, err := before.List(ctx)
	config, configErr := before.Config(ctx)
	if err = errors.Join(err, configErr); errors.Is(err, kv.ErrCorrupt) {
		s.lost("event functions: " + err.Error())
		return nil
	}
	if err != nil || len(records) == 0 {
		return err
	}
	for _, r := range records {
		if _, err := after.Put(ctx, r.Draft, nil); err != nil {
			return err
		}
		if r.State != definition.Undeployed {
			s.lost(fmt.Sprintf("event function %s: it was %s, and is undeployed now, without timers", r.Draft.Name,
				r.State))
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return after.MergeConfig(ctx, text)
}

// answers brings back what requests with a key of their own were answered.
func (s *salvager) answers(ctx context.Context, from, to kv.Store) error {
	return answers.Copy(ctx, from, to, func(err error) {
		s.lost("the answer to a request with an Idempotency-Key: " + err.Error())
	})
}

func (s *salvager) lost(what string) {
	s.losses++
	fmt.Fprintf(s.out, "lost %s\n", what)
}

// done prints what came out of a database, and what was left out on purpose.
func (s *salvager) done(d salvage.Result) {
	fmt.Fprintf(s.out, "%s: %d documents (%d revisions, %d attachments), %d local documents, %d losses\n",
		d.Name, d.Documents, d.Revisions, d.Attachments, d.LocalDocs, d.Losses)
	if d.Checkpoints > 0 {
		fmt.Fprintf(s.out, "%s: %d checkpoints of replications are left out, so that those begin anew\n", d.Name,
			d.Checkpoints)
	}
	if d.Compactable > 0 {
		fmt.Fprintf(s.out, "%s: %d replaced revisions are left out, which the next compaction would have removed\n",
			d.Name, d.Compactable)
	}
}

// copySettings copies what was set at run time, unless the target has settings.
func (s *salvager) copySettings() error {
	text, err := os.ReadFile(filepath.Join(s.source, "local.ini"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.target, "local.ini"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// countBar is a progress bar that counts, invisible where nobody looks.
func countBar(w io.Writer, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isTerminal(w)))
}
