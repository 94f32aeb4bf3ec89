package documents

import (
	"context"
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/archive"
)

// This file is about archives of a database. They hold every document as it is, and bring back what was accepted
// before without asking for rights or validation: so they are for server admins alone.

// Backup writes the database as an archive.
func (d *Database) Backup(ctx context.Context, w io.Writer, form archive.Form) (archive.Summary, error) {
	if !d.who.IsAdmin() {
		return archive.Summary{}, ErrNotServerAdmin
	}
	return archive.Write(ctx, d.db, w, form, nil)
}

// Restore brings an archive back whose header was read; with settings its security object and revs_limit, too.
func (d *Database) Restore(
	ctx context.Context,
	from *archive.Reader,
	h archive.Header,
	settings bool,
) (archive.Summary, error) {
	if !d.who.IsAdmin() {
		return archive.Summary{}, ErrNotServerAdmin
	}
	if settings && h.Form == archive.FormNative {
		if err := d.restoreSettings(ctx, h); err != nil {
			return archive.Summary{}, err
		}
	}
	return archive.Restore(ctx, from, h, d.db, nil)
}

// restoreSettings comes before the documents, so that no line of revisions is cut.
func (d *Database) restoreSettings(ctx context.Context, h archive.Header) error {
	if err := d.db.SetRevsLimit(ctx, h.RevsLimit); err != nil || h.Security == nil {
		return err
	}
	v, err := ejson.Parse(h.Security)
	if err != nil {
		return err
	}
	if _, err := compat.ParseSecurity(v); err != nil {
		return err
	}
	return d.db.SetSecurity(ctx, h.Security)
}

// Verify compares the database with an archive whose header was read, and calls differ for each revision that is not
// the same.
func (d *Database) Verify(
	ctx context.Context,
	from *archive.Reader,
	h archive.Header,
	differ func(id string, rev compat.Rev, what string),
) (archive.Summary, error) {
	if !d.who.IsAdmin() {
		return archive.Summary{}, ErrNotServerAdmin
	}
	return archive.Verify(ctx, from, h, d.db, differ)
}
