package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/replication/archive"
	"github.com/settee-db/settee/replication/site"
	"github.com/settee-db/settee/storage/couchfile"
	"github.com/settee-db/settee/storage/couchimport"
)

// running is a settee that runs, as the target of "migrate --from-data --to": what the files have
// comes to it as archives, by the path that restores them. That stores revisions as they are,
// compressed attachments too, and asks no validation function.
type running struct{ site *site.Site }

// Create implements couchimport.Target.
func (t running) Create(
	ctx context.Context, h *couchimport.Head,
) (to couchimport.Sink, made bool, err error) {
	path := site.DBPath(h.Name)
	query := url.Values{"q": {strconv.Itoa(h.Shards)}}
	if h.Partitioned {
		query.Set("partitioned", "true")
	}
	err = t.site.Send(ctx, http.MethodPut, path+"?"+query.Encode(), nil)
	made = err == nil
	if e, ok := errors.AsType[*site.Error](err); err != nil && (!ok || e.Status != http.StatusPreconditionFailed) {
		return nil, false, err
	}
	s := &restoring{ctx: ctx, site: t.site, path: path, header: archive.Header{
		Database: h.Name, Partitioned: h.Partitioned, RevsLimit: h.RevsLimit,
		PurgedInfosLimit: h.PurgedInfosLimit, Security: h.Security,
	}}
	// An archive without documents brings the settings. The server sets them only where nothing was
	// written or set before, also if an earlier try has made the database.
	s.query = "?settings=new"
	if err = s.begin(); err == nil {
		err = s.end()
	}
	s.query = ""
	return s, made, err
}

// restoring sends archives of one database, each from one Wait to the next. Only what Wait has
// seen the end of is known to be stored.
type restoring struct {
	ctx         context.Context // of the import
	site        *site.Site
	path, query string
	header      archive.Header
	archive     *archive.Writer // nil: none is being sent
	body        *io.PipeWriter
	answered    chan error // what came of the archive that is being sent
}

// begin begins an archive. The request reads what is written while it is made; if it ends early,
// the error of writing is that of the request.
func (s *restoring) begin() (err error) {
	read, write := io.Pipe()
	s.body, s.answered = write, make(chan error, 1)
	go func() {
		err := s.site.Send(s.ctx, http.MethodPost, s.path+"/_restore"+s.query, read)
		ended := err
		if ended == nil {
			ended = io.ErrClosedPipe
		}
		_ = read.CloseWithError(ended) // is always nil
		s.answered <- err
	}()
	s.archive, err = archive.NewWriter(write, &s.header)
	return err
}

// end ends the archive, if one is being sent, and waits for the answer, which is what counts.
func (s *restoring) end() error {
	if s.archive == nil {
		return nil
	}
	err := s.archive.Close()
	_ = s.body.CloseWithError(err) // is always nil; the request does not end as a whole one after an error
	s.archive = nil
	return errors.Join(<-s.answered, err)
}

// Add implements couchimport.Sink. Attachments are read twice, first for their digests, so that
// nothing is sent of a revision that lacks one.
func (s *restoring) Add(
	_ context.Context, doc *compat.Document, read func(attachment int) io.Reader,
) error {
	at := make(map[*compat.Attachment]int, len(doc.Attachments))
	for i := range doc.Attachments {
		a := &doc.Attachments[i]
		sum := md5.New()
		if _, err := io.Copy(sum, read(i)); err != nil {
			return err
		}
		a.Digest, a.HasDigest = [md5.Size]byte(sum.Sum(nil)), true
		at[a] = i
	}
	if s.archive == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	return s.archive.Revision(doc, func(a *compat.Attachment, to io.Writer) error {
		_, err := io.Copy(to, read(at[a]))
		return err
	})
}

// Wait implements couchimport.Sink.
func (s *restoring) Wait(ctx context.Context) (seq string, err error) {
	if err := s.end(); err != nil {
		return "", err
	}
	var info struct {
		Seq string `json:"update_seq"`
	}
	return info.Seq, s.site.GetJSON(ctx, s.path, &info)
}

// Local implements couchimport.Sink. A local document is not compared with what it replaces: its
// revision is the one behind that which is named.
func (s *restoring) Local(
	ctx context.Context, id string, rev int64, body *compat.Body,
) (refused, err error) {
	view := compat.DocumentView{ID: id, Body: body.JSON}
	if rev > 1 {
		view.Rev = compat.Rev{Hash: strconv.FormatInt(rev-1, 10)}
	}
	name := strings.TrimPrefix(id, "_local/")
	err = s.site.Send(ctx, http.MethodPut, s.path+"/_local/"+url.PathEscape(name),
		bytes.NewReader(compat.AppendDocument(nil, &view)))
	if e, ok := errors.AsType[*site.Error](err); ok && e.Status < http.StatusInternalServerError &&
		e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden {
		return e, nil
	}
	return nil, err
}

// Close implements couchimport.Sink. The server takes an archive whole: there is nothing that it
// has refused without an error.
func (s *restoring) Close() (refused []*couchfile.Damage, err error) { return nil, s.end() }
