package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/settee-db/settee/replication/archive"
	"github.com/settee-db/settee/replication/site"
)

// parseSite reads a URL whose credentials may be in the environment instead.
func parseSite(text string) (*site.Site, string, error) {
	s, db, err := site.Parse(text)
	if err == nil && s.Name == "" {
		s.Name, s.Password = os.Getenv("COUCHDB_USER"), os.Getenv("COUCHDB_PASSWORD")
	}
	return s, db, err
}

// archiveSuffix ends the names of the files of a directory of archives; what is before is the
// database's name, escaped.
const archiveSuffix = ".settee"

// backupCommand is "settee backup". A logical backup reads a server over HTTP and needs no access
// to its files; a physical one reads the files and needs no server, so the two take different
// arguments.
func backupCommand() *cobra.Command {
	var output, format string
	var physical bool
	var o appOptions
	cmd := &cobra.Command{
		Use:   "backup URL | backup --physical",
		Short: "Write a database of a running settee to a file, or all its databases to a directory",
		Long: `Write a database of a running settee to a file, or all its databases to a directory.

URL is that of a database, or of a server; a name and password may be part of it, or be in
COUCHDB_USER and COUCHDB_PASSWORD. The archive has every document with its conflicts, deletions
and attachments as they were at one moment. For another CouchDB see "settee migrate".

With --physical it is the whole data directory of the embedded engine, as it is at one moment, indexes
and settings too, whether a server on this machine uses it or not: the files of --data are copied into
a new directory --output, which "settee serve --data" serves.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if physical {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if physical {
				if output == "" {
					return errors.New("a physical backup needs a directory: --output")
				}
				return physicalBackup(cmd.Context(), o, output, cmd.ErrOrStderr())
			}
			server, db, err := parseSite(args[0])
			if err != nil {
				return err
			}
			b := backup{site: server, query: url.Values{"format": {format}}.Encode(), progress: cmd.ErrOrStderr()}
			switch {
			case db == "" && output == "":
				return errors.New("all databases need a directory: --output")
			case db == "":
				return b.all(cmd.Context(), output)
			case output == "":
				return b.stream(cmd.Context(), db, cmd.OutOrStdout())
			}
			return b.file(cmd.Context(), db, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"file, or directory for all databases (default: standard output)")
	cmd.Flags().StringVar(&format, "format", "settee", "settee, or couchbackup for that tool's format")
	cmd.Flags().BoolVar(&physical, "physical", false, "copy the files of a data directory of the embedded engine")
	addStoreFlags(cmd, &o)
	return cmd
}

// backup reads archives from a server.
type backup struct {
	site     *site.Site
	query    string
	progress io.Writer
}

// all writes each database to a file of its own. _global_changes is left out: it only lists events
// of the others.
func (b *backup) all(ctx context.Context, dir string) error {
	var names []string
	if err := b.site.GetJSON(ctx, "/_all_dbs", &names); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, name := range names {
		if name == "_global_changes" {
			continue
		}
		if err := b.file(ctx, name, filepath.Join(dir, url.QueryEscape(name)+archiveSuffix)); err != nil {
			return fmt.Errorf("database %s: %w", name, err)
		}
	}
	return nil
}

// file gives the file its name when it is whole and on disk.
func (b *backup) file(ctx context.Context, db, path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".backup-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := b.stream(ctx, db, f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// stream writes the archive of a database as it comes.
func (b *backup) stream(ctx context.Context, db string, w io.Writer) error {
	resp, err := b.site.Do(ctx, http.MethodGet, site.DBPath(db)+"/_backup?"+b.query, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	bar := byteBar(b.progress, -1, db)
	_, err = io.Copy(io.MultiWriter(w, bar), resp.Body)
	return errors.Join(err, bar.Finish())
}

// byteBar is a progress bar, invisible where nobody looks.
func byteBar(w io.Writer, size int64, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(size, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionSetVisibility(isTerminal(w)))
}

// isTerminal reports whether somebody sees a progress bar.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// restoreCommand is "settee restore". An archive from standard input cannot be read a second time,
// so it alone is written without the comparison that follows otherwise.
func restoreCommand() *cobra.Command {
	var verifyOnly bool
	cmd := &cobra.Command{
		Use:   "restore URL FILE",
		Short: "Bring an archive back into a database, or all archives of a directory into a server",
		Long: `Bring an archive back into a database, or all archives of a directory into a server.

A database that does not exist is created with the archive's settings. Revisions are merged into those
that are there. Afterwards everything is read again and compared. FILE may be - for standard input,
which cannot be compared; it may be of settee or of couchbackup.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, db, err := parseSite(args[0])
			if err != nil {
				return err
			}
			r := restore{site: server, verifyOnly: verifyOnly, out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr()}
			switch {
			case db == "":
				return r.all(cmd.Context(), args[1])
			case args[1] == "-":
				return r.write(cmd.Context(), db, cmd.InOrStdin(), -1, "settings=true")
			}
			return r.file(cmd.Context(), db, args[1])
		},
	}
	cmd.Flags().BoolVar(&verifyOnly, "verify-only", false, "write nothing, compare only")
	return cmd
}

// restore sends archives to a server.
type restore struct {
	site          *site.Site
	verifyOnly    bool
	out, progress io.Writer
}

// all restores the archives of a directory, each into the database whose escaped name the file has.
// It stops at the first error, so that a full disk is not reported once for each file.
func (r *restore) all(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"+archiveSuffix))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no files *%s in %s", archiveSuffix, dir)
	}
	for _, file := range files {
		db, err := url.QueryUnescape(strings.TrimSuffix(filepath.Base(file), archiveSuffix))
		if err != nil {
			return err
		}
		if err := r.file(ctx, db, file); err != nil {
			return fmt.Errorf("database %s: %w", db, err)
		}
	}
	return nil
}

// file restores and then compares.
func (r *restore) file(ctx context.Context, db, path string) error {
	// each with a file of its own: a request may still read on
	pass := func(fn func(f *os.File, size int64) error) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return fn(f, info.Size())
	}
	if !r.verifyOnly {
		if err := pass(func(f *os.File, _ int64) error { return r.create(ctx, db, f) }); err != nil {
			return err
		}
		// Whether the database is new the server knows, also where an earlier try has made it.
		err := pass(func(f *os.File, size int64) error { return r.write(ctx, db, f, size, "settings=new") })
		if err != nil {
			return err
		}
	}
	return pass(func(f *os.File, size int64) error { return r.verify(ctx, db, f, size) })
}

// create makes the database as the archive's header says, if there is none.
func (r *restore) create(ctx context.Context, db string, f io.Reader) error {
	header, err := archive.NewReader(f).Next()
	if err != nil {
		return err
	}
	path := site.DBPath(db)
	path += creation(header.Partitioned, header.Access)
	resp, err := r.site.Do(ctx, http.MethodPut, path, nil)
	var failed *site.Error
	if errors.As(err, &failed) && failed.Status == http.StatusPreconditionFailed {
		return nil
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// creation is the query of a request that makes a database.
func creation(partitioned, access bool) string {
	switch {
	case partitioned && access:
		return "?partitioned=true&access=true"
	case partitioned:
		return "?partitioned=true"
	case access:
		return "?access=true"
	}
	return ""
}

// restored is what the server says of an archive.
type restored struct {
	OK                              bool
	Documents, Revisions, Differing int64
	Attachments                     int64
	Differences                     []struct{ ID, Rev, Differs string }
}

// send posts an archive and reads what became of it.
func (r *restore) send(
	ctx context.Context,
	db string,
	f io.Reader,
	size int64,
	query, what string,
) (result restored, err error) {
	bar := byteBar(r.progress, size, what+" "+db)
	body := io.TeeReader(f, bar) // a plain Reader: the file is not the request's to close
	resp, err := r.site.Do(ctx, http.MethodPost, site.DBPath(db)+"/_restore?"+query, body)
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	_ = bar.Finish() // only the terminal
	return result, json.NewDecoder(resp.Body).Decode(&result)
}

func (r *restore) write(ctx context.Context, db string, f io.Reader, size int64, query string) error {
	result, err := r.send(ctx, db, f, size, query, "restoring")
	if err == nil {
		fmt.Fprintf(r.out, "%s: restored %d documents, %d revisions, %d attachments\n", db, result.Documents,
			result.Revisions, result.Attachments)
	}
	return err
}

// verify compares an archive with the database and prints each revision that differs; any makes the
// command fail.
func (r *restore) verify(ctx context.Context, db string, f io.Reader, size int64) error {
	result, err := r.send(ctx, db, f, size, "verify=true", "comparing")
	if err != nil {
		return err
	}
	for _, d := range result.Differences {
		fmt.Fprintf(r.out, "%s: document %q, revision %s: %s\n", db, d.ID, d.Rev, d.Differs)
	}
	if !result.OK {
		return fmt.Errorf("%s: %d revisions differ", db, result.Differing)
	}
	fmt.Fprintf(r.out, "%s: all %d revisions are there\n", db, result.Revisions)
	return nil
}
