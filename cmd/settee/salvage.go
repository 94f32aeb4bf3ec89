package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func salvageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "salvage SOURCE_DIR TARGET_DIR",
		Short: "Bring back what can be read of a damaged data directory into a new one",
		Long: `Bring back what can be read of a damaged data directory into a new one.

Files of the store that are missing, broken off or changed are passed over; everything else is read, block by
block. Documents are written anew with their conflicts, deletions, attachments and lines of revisions. What is
lost is listed, a line each, and ends the command with status 1. SOURCE_DIR is not changed; no server may use it.
TARGET_DIR must not have a store. It needs about three times the space of the data while this runs.

Sequences of the databases begin anew, and where something is lost checkpoints of replications are left out: whoever
follows a database is given all of it again.`,
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
	losses         int64
}

func (s *salvager) run(ctx context.Context) (err error) {
	target := filepath.Join(s.target, storeDir)
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s: there is a store already", s.target), err)
	}
	if err := os.MkdirAll(s.target, 0o750); err != nil {
		return err
	}
	scratch := filepath.Join(s.target, "salvage.tmp")
	if err := os.RemoveAll(scratch); err != nil { // of a run that was stopped
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	damages, err := s.read(ctx, scratch)
	if err != nil {
		return err
	}
	if err := s.write(ctx, scratch, target, damages); err != nil {
		return errors.Join(err, os.RemoveAll(target))
	}
	if err := s.copySettings(); err != nil {
		return err
	}
	if s.losses > 0 {
		return fmt.Errorf("%s has all that could be read; %d losses", s.target, s.losses)
	}
	return nil
}

// read copies what can be read of the files into the store scratch.
func (s *salvager) read(ctx context.Context, scratch string) ([]kv.Damage, error) {
	bar := countBar(s.progress, "reading keys")
	r, err := pebblekv.Recover(ctx, filepath.Join(s.source, storeDir), scratch,
		func(keys int64) { _ = bar.Set64(keys) })
	_ = bar.Finish() // only the terminal
	if err != nil {
		return nil, err
	}
	for _, d := range r.Damages {
		fmt.Fprintf(s.out, "file %s\n", describe(d))
	}
	fmt.Fprintf(s.out, "read %d keys of %d tables and %d logs, %d damages\n", r.Keys, r.Tables, r.Logs, len(r.Damages))
	return r.Damages, nil
}

func describe(d kv.Damage) string {
	if d.Blocks > 1 {
		return fmt.Sprintf("%s: %d blocks cannot be read: %s", d.File, d.Blocks, d.What)
	}
	return d.File + ": " + d.What
}

// write brings the databases of the store scratch into the new store, and checks that.
func (s *salvager) write(ctx context.Context, scratch, target string, damages []kv.Damage) (err error) {
	log := commandLog(s.progress)
	from, err := pebblekv.Open(scratch, pebblekv.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	engine, err := pebblekv.Open(target, pebblekv.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	store, err := storage.Open(ctx, storage.Options{KV: engine, Manual: true})
	if err != nil {
		return err
	}
	err = store.Salvage(ctx, storage.SalvageOptions{
		From: from, Damages: damages,
		Lost: func(l storage.Loss) {
			s.losses++
			fmt.Fprintf(s.out, "lost %s\n", l)
		},
		Done: s.done,
	})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	return checkStore(ctx, engine, s.out, s.progress)
}

func (s *salvager) done(d storage.Salvaged) {
	fmt.Fprintf(s.out, "%s: %d documents (%d revisions, %d attachments), %d local documents, %d losses\n",
		d.Name, d.Documents, d.Revisions, d.Attachments, d.LocalDocs, d.Losses)
	if d.Checkpoints > 0 {
		fmt.Fprintf(s.out, "%s: %d checkpoints of replications are left out, so that those begin anew\n", d.Name,
			d.Checkpoints)
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
