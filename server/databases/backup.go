package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/archive"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// Archives hold every document as it is, and bring back what was accepted before without asking for
// rights or validation: so their routes are for server admins alone (call.ServerAdmin).

// getBackup streams the database as an archive (an extension: CouchDB has no such endpoint, and no
// document can have the name). `format=couchbackup` gives what that tool reads. A stream that
// breaks off has no end line.
func getBackup(c *call.Call) error {
	form := archive.FormNative
	switch format, _ := c.Query.Last("format"); format {
	case "", "settee":
	case "couchbackup":
		form = archive.FormCouchBackup
	default:
		return compat.NewError(compat.KindBadRequest, "`format` must be settee or couchbackup.")
	}
	if err := c.RequireDB(); err != nil {
		return err
	}
	c.SetHeader("Content-Type", "application/x-ndjson")
	c.SetHeader("Cache-Control", "no-store")
	s := c.RawStream(http.StatusOK)
	if _, err := archive.Write(c.Context(), c.DB, s, form, nil); err != nil {
		return err
	}
	return s.Close()
}

// maxDifferences is how many differences an answer lists.
const maxDifferences = 1000

// postRestore takes an archive of one database. With `verify=true` nothing is written, and what
// differs is listed; with `settings=true` the archive's security object, its limits
// and how long deleted documents are kept are set, too, with `settings=new` only where nothing was
// done with the database since it was made.
func postRestore(c *call.Call) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	reader := archive.NewReader(c.BodyReader())
	header, err := reader.Next()
	if err != nil {
		return badArchive(err)
	}
	if verify, _ := c.Query.Last("verify"); verify == "true" {
		return verifyArchive(c, reader, header)
	}
	settings, _ := c.Query.Last("settings")
	set := settings == "true"
	if settings == "new" {
		if set, err = untouched(c.Context(), c.DB); err != nil {
			return err
		}
	}
	if set && header.Form == archive.FormNative {
		if err := restoreSettings(c.Context(), c.DB, header); err != nil {
			return badArchive(err)
		}
	}
	sum, err := archive.Restore(c.Context(), reader, header, c.DB, c.Settings.Rules.Compression)
	if err != nil {
		return badArchive(err)
	}
	return c.JSON(http.StatusCreated, append(appendSummary([]byte(`{"ok":true`), sum), '}'))
}

// untouched reports whether the database has no change and no security object yet: it was made just
// now, or by a restore that was cut off before restoreSettings ended, whose client knows nothing of it
// any more. The answer holds for a moment only; who sets the rights of a new database at the same
// time as restoring into it has one of both.
func untouched(ctx context.Context, db *storage.DB) (bool, error) {
	info, err := db.Info(ctx)
	if err != nil || info.UpdateSeq.N > 0 {
		return false, err
	}
	object, err := db.Settings().Security(ctx)
	return object == nil, err
}

// restoreSettings comes before the documents, so that no line of revisions is cut. The security
// object is the last: a database that has one, or a document, needs none of the others any more
// (untouched).
func restoreSettings(ctx context.Context, db *storage.DB, h archive.Header) error {
	set := db.Settings()
	if h.AutoPurge != "" {
		if !tombstoneLife.accepts(h.AutoPurge) {
			return tombstoneLife.badText
		}
		if err := set.SetAutoPurge(ctx, h.AutoPurge); err != nil {
			return err
		}
	}
	if h.History != "" {
		if !historyLife.accepts(h.History) {
			return errHistory
		}
		if err := set.SetHistory(ctx, h.History); err != nil {
			return err
		}
	}
	if h.Access {
		if err := set.SetShare(ctx, h.Share); err != nil {
			return err
		}
	}
	if h.PurgedInfosLimit > 0 {
		if err := set.SetPurgedInfosLimit(ctx, h.PurgedInfosLimit); err != nil {
			return err
		}
	}
	if err := set.SetRevsLimit(ctx, h.RevsLimit); err != nil || h.Security == nil {
		return err
	}
	v, err := ejson.Parse(h.Security)
	if err != nil {
		return err
	}
	if _, err := compat.ParseSecurity(v); err != nil {
		return err
	}
	return set.SetSecurity(ctx, h.Security)
}

// verifyArchive compares an archive with the database and lists the revisions that differ. It
// counts all of them but lists at most maxDifferences, so that an archive of another database does
// not make an answer of any length.
func verifyArchive(c *call.Call, reader *archive.Reader, h archive.Header) error {
	var list []byte
	var count int64
	sum, err := archive.Verify(c.Context(), reader, h, c.DB, func(id string, rev compat.Rev, what string) {
		if count++; count > maxDifferences {
			return
		}
		if count > 1 {
			list = append(list, ',')
		}
		list = ejson.AppendString(append(list, `{"id":`...), id)
		list = rev.AppendJSON(append(list, `,"rev":`...))
		list = append(ejson.AppendString(append(list, `,"differs":`...), what), '}')
	})
	if err != nil {
		return badArchive(err)
	}
	b := strconv.AppendBool([]byte(`{"ok":`), count == 0)
	b = strconv.AppendInt(append(appendSummary(b, sum), `,"differing":`...), count, 10)
	return c.JSON(http.StatusOK, append(append(append(b, `,"differences":[`...), list...), ']', '}'))
}

// appendSummary appends how much an archive has, as members of an object.
func appendSummary(b []byte, sum archive.Summary) []byte {
	return fmt.Appendf(b, `,"documents":%d,"revisions":%d,"attachments":%d`, sum.Documents, sum.Revisions,
		sum.Attachments)
}

// badArchive tells the client what is wrong with what it sent.
func badArchive(err error) error {
	if _, wire := compat.AsError(err); !wire && (errors.Is(err, archive.ErrFormat) || err == io.EOF) {
		return compat.NewError(compat.KindBadRequest, err.Error())
	}
	return err
}
