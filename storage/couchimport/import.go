package couchimport

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/couchfile"
)

// Options are the parameters of Database.
type Options struct {
	// To is where it goes; nil: it is only read and checked.
	To Target
	// Damaged is called for what cannot be read or was refused; its error ends the import.
	Damaged func(*couchfile.Damage) error
	// Progress is called now and then with the number of documents that are read. It may be nil.
	Progress func(documents int64)
}

// Report is what was read of a database, and written.
type Report struct {
	// Total is how many documents, deleted ones too, the files count. Several nodes' copies count
	// once.
	Total                             int64
	Revisions, Attachments, LocalDocs int64
	// Checkpoints are local documents that were left out: of replications from this database, and
	// of CouchDB's own indexes and shards.
	Checkpoints int64
	Damages     int64
}

// Total is how many documents the files of a database count, without reading them.
func Total(d *couchfile.Database) (n int64) {
	for i := range d.Shards {
		var most int64
		for _, path := range d.Shards[i].Files {
			if f, _, err := couchfile.Open(path); err == nil {
				info := f.Info()
				most = max(most, info.Documents+info.Deleted)
				_ = f.Close() // nothing was written
			}
		}
		n += most
	}
	return n
}

// Database writes a database. One that is there already, from an import before or another source,
// gets what it does not have yet; its settings stay.
func Database(ctx context.Context, d *couchfile.Database, o Options) (Report, error) {
	w := &work{ctx: ctx, d: d, o: o}
	w.report.Total = Total(d)
	err := w.run()
	return w.report, err
}

// work is an import of one database.
type work struct {
	ctx    context.Context // of the call of Database, in which it begins and ends
	d      *couchfile.Database
	o      Options
	sink   Sink // nil: only check
	report Report
	uuids  map[string]bool // of all shards, for sequences in checkpoints
	// leading are the first files of the shards: sequences are of these, checkpoints lead to marks.
	leading []*shardFile
	marks   []mark
	fresh   bool // the database was made by this import
	seen    int64
}

func (w *work) damaged(d *couchfile.Damage) error {
	w.report.Damages++
	return w.o.Damaged(d)
}

// run opens all files of the database first, since settings and the checks of copies need all of
// them, and then imports one after the other.
func (w *work) run() error {
	var files []*shardFile
	defer func() {
		for _, f := range files {
			_ = f.Close() // nothing was written
		}
	}()
	w.uuids = map[string]bool{}
	for i := range w.d.Shards {
		s := &w.d.Shards[i]
		for _, path := range s.Files {
			f, damages, err := couchfile.Open(path)
			for _, d := range damages {
				if err := w.damaged(d); err != nil {
					return err
				}
			}
			if err != nil {
				var d *couchfile.Damage
				if !errors.As(err, &d) {
					d = &couchfile.Damage{File: path, Err: err}
				}
				if err := w.damaged(d); err != nil {
					return err
				}
				continue
			}
			w.uuids[f.Info().UUID] = true
			file := &shardFile{File: f, shard: s}
			if len(files) == 0 || files[len(files)-1].shard != s {
				w.leading = append(w.leading, file)
			}
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil // Damaged has the reasons
	}
	if err := w.create(files[0]); err != nil {
		return err
	}
	err := w.files(files)
	if w.sink == nil {
		return err
	}
	// The writers end whatever happened, and before the files are closed.
	refused, stop := w.sink.Close()
	if err = errors.Join(err, stop); err != nil {
		return err
	}
	for _, d := range refused {
		d.File = w.d.Name
		if err := w.damaged(d); err != nil {
			return err
		}
	}
	return nil
}

// shardFile is an open file of a shard.
type shardFile struct {
	*couchfile.File
	shard  *couchfile.Shard
	purged map[string][]compat.Rev // revisions that this copy has and another one has purged
	after  int64                   // documents up to this sequence have been imported; or broken
	early  Report                  // what was counted of these
}

// create makes the database, unless it is there, with the settings that a file has.
func (w *work) create(f *shardFile) error {
	security, err := f.Security()
	if err != nil {
		var d *couchfile.Damage
		if !errors.As(err, &d) {
			return err
		}
		if err := w.damaged(d); err != nil {
			return err
		}
		// with a damaged _security, admins only
		security = []byte(`{"admins":{"roles":["_admin"]},"members":{"roles":["_admin"]}}`)
	}
	if w.o.To == nil {
		return nil
	}
	info := f.Info()
	w.sink, w.fresh, err = w.o.To.Create(w.ctx, &Head{
		Name: w.d.Name, Partitioned: w.d.Partitioned, Shards: len(w.d.Shards), RevsLimit: info.RevsLimit,
		PurgedInfosLimit: info.PurgesLimit, Security: canonical(security),
	})
	return err
}

// canonical is the stored form of an object, nil of none.
func canonical(object []byte) []byte {
	v, err := ejson.Parse(object)
	if err != nil || v.Len() == 0 {
		return nil
	}
	return v.AppendJSON(nil)
}

// files imports the documents and local documents of each file. Into a new database come first, in
// their order, those that checkpoints of replications from it know of; in one that was there before
// what these do not know has sequences among what they know, and they are left out.
func (w *work) files(files []*shardFile) error {
	if err := w.findPurged(files); err != nil {
		return err
	}
	if w.fresh {
		if err := w.findMarks(files); err != nil {
			return err
		}
		if err := w.toMarks(); err != nil {
			return err
		}
	}
	for _, f := range files {
		revision := func(r *couchfile.Revision) error { return w.revision(f, r) }
		if f.after == broken { // they come again, and are counted again
			w.report.Revisions -= f.early.Revisions
			w.report.Attachments -= f.early.Attachments
		}
		if err := f.Revisions(f.after, revision, w.damaged); err != nil {
			return err
		}
	}
	if w.sink != nil {
		if _, err := w.sink.Wait(w.ctx); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := w.locals(f); err != nil {
			return err
		}
	}
	return nil
}

// revision hands a revision to the sink.
func (w *work) revision(f *shardFile, r *couchfile.Revision) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.seen++; w.seen%1000 == 0 && w.o.Progress != nil {
		w.o.Progress(w.seen)
	}
	if f.isPurged(r) {
		return nil
	}
	if !w.d.Has(f.shard, r.ID) {
		err := w.damaged(&couchfile.Damage{File: f.Path(), ID: r.ID, Err: fmt.Errorf(
			"it does not belong to the range %08x-%08x of its shard", f.shard.Low, f.shard.High)})
		if err != nil {
			return err
		}
	}
	body, err := compat.NewBody(r.Body)
	if err != nil {
		return w.damaged(&couchfile.Damage{File: f.Path(), ID: r.ID, Err: err})
	}
	doc := &compat.Document{ID: r.ID, HasID: true, Revs: r.Revs, Deleted: r.Deleted, Body: body}
	for i := range r.Attachments {
		doc.Attachments = append(doc.Attachments, r.Attachments[i].Attachment)
	}
	read := func(i int) io.Reader { return f.Bytes(&r.Attachments[i]) }
	if w.sink != nil {
		err = w.sink.Add(w.ctx, doc, read)
	} else {
		for i := 0; i < len(r.Attachments) && err == nil; i++ {
			_, err = io.Copy(io.Discard, read(i))
		}
	}
	if d, ok := errors.AsType[*couchfile.Damage](err); ok { // the revision is not complete without it
		d.ID = r.ID
		return w.damaged(d)
	}
	if err != nil {
		return err
	}
	w.report.Attachments += int64(len(r.Attachments))
	w.report.Revisions++
	return nil
}
