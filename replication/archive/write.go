package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/groups"
)

// Form is how an archive is written.
type Form uint8

// The forms; see the package comment.
const (
	FormNative Form = iota
	FormCouchBackup
)

const (
	batchBytes = 1 << 20  // of documents on one line
	batchDocs  = 500      // revisions on one line
	pieceBytes = 48 << 10 // of an attachment on one line, before base64

	writeBuffer = 256 << 10
)

// Summary says what an archive has of one database.
type Summary struct {
	Database string
	// Seq is that of the moment before the first document was read. What has changed since may or
	// may not be in the archive, so a replication that goes on from here misses nothing.
	Seq string // as the database's update_seq
	// Documents counts a document again when it has changed while the archive was written, since it
	// is written again.
	Documents int64
	Revisions int64
	// Attachments counts those of each revision: one that two revisions share is written twice.
	Attachments int64
}

// Write writes a database. progress, if it is not nil, is called now and then with the number of
// documents so far.
func Write(ctx context.Context, db *storage.DB, w io.Writer, form Form, progress func(Summary)) (Summary, error) {
	out := &writer{ctx: ctx, db: db, w: bufio.NewWriterSize(w, writeBuffer), form: form, progress: progress}
	out.sum.Database = db.Name()
	if err := out.header(); err != nil {
		return out.sum, err
	}
	if err := out.allDocuments(); err != nil {
		return out.sum, err
	}
	if err := out.flush(); err != nil {
		return out.sum, err
	}
	if form == FormNative {
		if err := out.end(); err != nil {
			return out.sum, err
		}
	}
	return out.sum, out.w.Flush()
}

type writer struct {
	ctx      context.Context // of the call of Write, in which it begins and ends
	db       *storage.DB
	w        *bufio.Writer
	form     Form
	progress func(Summary)
	sum      Summary
	since    storage.Seq // of the last document that is written
	failed   error       // the error of writing a document: half of it may be written, so it must not be retried
	digest   hash.Hash   // of the lines since the header, native only
	batch    []byte      // the line of documents that is being made
	// inBatch is the number of revisions in batch; with 0 there is no line to end.
	inBatch int
	// read writes the stored bytes of an attachment where they are not the database's.
	read    func(att *compat.Attachment, to io.Writer) error
	expires []byte // the line before it that tells when revisions of it expire, without its end
	readers []byte // likewise, of tombstones whose bodies do not tell who may read them
	line    []byte
}

// put writes a line and adds it to the digest.
func (out *writer) put(line []byte) error {
	if out.digest != nil {
		out.digest.Write(line)
	}
	_, err := out.w.Write(line)
	return err
}

// header writes the first line: what a database is besides its documents, for the native form, and
// couchbackup's constant line for the other. The digest begins after it.
func (out *writer) header() error {
	info, err := out.db.Info(out.ctx)
	if err != nil {
		return err
	}
	out.sum.Seq = string(compat.AppendSeq(nil, info.UpdateSeq.N, info.UpdateSeq.Seq))
	if out.form == FormCouchBackup {
		return out.put(
			[]byte(`{"name":"@cloudant/couchbackup","version":"2.11.0","mode":"full","attachments":true}` + "\n"),
		)
	}
	rec, err := out.db.Settings().Record(out.ctx)
	if err != nil {
		return err
	}
	security, err := out.db.Settings().Security(out.ctx)
	if err != nil {
		return err
	}
	return out.nativeHeader(&Header{
		Database: out.sum.Database, Seq: out.sum.Seq, Partitioned: info.Partitioned, RevsLimit: rec.RevsLimit,
		PurgedInfosLimit: rec.PurgedInfosLimit, AutoPurge: rec.AutoPurge, History: rec.History, Security: security,
		Access: rec.Access.On, Share: access.ShareOf(rec.Access.ShareAny),
	})
}

// nativeHeader writes the first line of the native form, and begins the digest.
func (out *writer) nativeHeader(h *Header) error {
	b := []byte(`{"name":"settee","format":1,"mode":"full","db":`)
	if h.Access { // which programs that do not know it would restore for everybody
		b = append([]byte(`{"name":"settee","format":2,"mode":"full","access":"`), h.Share.String()...)
		b = append(b, `","db":`...)
	}
	b = ejson.AppendString(b, h.Database)
	b = ejson.AppendString(append(b, `,"seq":`...), h.Seq)
	b = strconv.AppendBool(append(b, `,"partitioned":`...), h.Partitioned)
	b = strconv.AppendInt(append(b, `,"revs_limit":`...), h.RevsLimit, 10)
	b = strconv.AppendInt(append(b, `,"purged_infos_limit":`...), h.PurgedInfosLimit, 10)
	if h.AutoPurge != "" {
		b = ejson.AppendString(append(b, `,"deleted_document_ttl":`...), h.AutoPurge)
	}
	if h.History != "" {
		b = ejson.AppendString(append(b, `,"history":`...), h.History)
	}
	if h.Security != nil {
		b = append(append(b, `,"security":`...), h.Security...)
	}
	err := out.put(append(b, '}', '\n'))
	out.digest = sha256.New()
	return err
}

// end writes the last line, by which a reader knows that nothing is missing: the counts, and the
// digest of all lines since the header.
func (out *writer) end() error {
	b := strconv.AppendInt([]byte(`{"end":true,"documents":`), out.sum.Documents, 10)
	b = strconv.AppendInt(append(b, `,"revisions":`...), out.sum.Revisions, 10)
	b = strconv.AppendInt(append(b, `,"attachments":`...), out.sum.Attachments, 10)
	b = append(append(b, `,"sha256":"`...), hex.EncodeToString(out.digest.Sum(nil))...)
	out.digest = nil
	return out.put(append(b, '"', '}', '\n'))
}

// allDocuments writes one snapshot, or, where snapshots are short-lived, one after the other: a
// document that changes meanwhile comes once more after the rest.
func (out *writer) allDocuments() error {
	if err := out.db.ViewAgain(out.ctx, out.documents); err != nil {
		return err
	}
	return out.failed
}

// documents writes the documents of a snapshot in the order of their last update.
func (out *writer) documents(s *storage.Snapshot) error {
	some, err := expiry.Some(s)
	if err != nil {
		return err
	}
	if out.since == (storage.Seq{}) && out.form == FormNative {
		if out.failed = out.groups(s); out.failed != nil {
			return out.failed
		}
	}
	_, err = s.Changes(storage.ChangesOptions{Since: out.since, Limit: -1}, func(ch *storage.Change) error {
		o := docread.OpenRevsOptions{All: true, Open: docread.OpenOptions{Revs: true, Deleted: true}}
		err := s.OpenRevs(ch.ID, o, func(revs []docread.RevResult) error {
			var times []int64
			if some {
				if times, err = expiry.Of(s, readRevs(ch.ID, revs)); err != nil {
					return err
				}
			}
			out.failed = out.revisions(revs, times)
			return out.failed
		})
		if out.failed != nil {
			return storage.ErrStop
		}
		if err != nil {
			return err
		}
		out.sum.Documents++
		if out.progress != nil && out.sum.Documents%1000 == 0 {
			out.progress(out.sum)
		}
		out.since = ch.Seq.Seq
		s.Advance()
		return nil
	})
	return err
}

// groups writes the groups of a database with access for each document, a line each.
func (out *writer) groups(s *storage.Snapshot) error {
	return s.Groups().Each(s.KV(), func(g *groups.Group) error {
		b := ejson.AppendString([]byte(`{"group":`), g.Name)
		return out.put(append(g.AppendJSON(append(b, `,"body":`...)), '}', '\n'))
	})
}

// readRevs names revisions of a document.
func readRevs(id string, revs []docread.RevResult) []storage.ReadRev {
	list := make([]storage.ReadRev, len(revs))
	for i := range revs {
		if list[i].ID = id; revs[i].Doc != nil {
			list[i].Rev = revs[i].Doc.Rev
		}
	}
	return list
}

// revisions writes leaves of one document, and when they expire, if any document does.
func (out *writer) revisions(revs []docread.RevResult, times []int64) error {
	for i, r := range revs {
		if r.Doc == nil {
			continue
		}
		out.sum.Revisions++
		if len(r.Doc.Attachments) > 0 { // a batch of its own: no more uploads than its own wait for a restore
			if err := out.flush(); err != nil {
				return err
			}
		}
		atts, err := out.attachments(r.Doc)
		if err != nil {
			return err
		}
		if out.inBatch == 0 {
			out.batch = append(out.batch[:0], '[')
		} else {
			out.batch = append(out.batch, ',')
		}
		out.inBatch++
		if times != nil {
			out.expiring(r.Doc, times[i])
		}
		out.readBy(r.Doc)
		out.batch = compat.AppendDocument(out.batch, &compat.DocumentView{
			ID: r.Doc.ID, Rev: r.Doc.Rev, Body: r.Doc.Body, Deleted: r.Doc.Deleted, Revisions: r.Doc.Revs,
			Attachments: atts,
		})
		if len(atts) > 0 || len(out.batch) >= batchBytes || out.inBatch >= batchDocs {
			if err := out.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// expiring notes when a revision of the batch expires. The other program's form has no place for
// that.
func (out *writer) expiring(doc *docread.Document, ms int64) {
	if ms == 0 || out.form != FormNative {
		return
	}
	out.expires = appendOf(out.expires, "expires", doc)
	out.expires = append(strconv.AppendInt(append(out.expires, `,"ms":`...), ms, 10), '}')
}

// appendOf begins the entry of a revision in a line of an archive that is a list of this name.
func appendOf(line []byte, list string, doc *docread.Document) []byte {
	if len(line) == 0 {
		line = append(line, `{"`+list+`":[`...)
	} else {
		line = append(line, ',')
	}
	line = ejson.AppendString(append(line, `{"id":`...), doc.ID)
	return doc.Rev.AppendJSON(append(line, `,"rev":`...))
}

// readBy notes who may read a tombstone that does not say so itself.
func (out *writer) readBy(doc *docread.Document) {
	if !doc.Deleted || doc.Access == nil || out.form != FormNative {
		return
	}
	if _, given, err := access.Parse(doc.Body); given || err != nil {
		return
	}
	out.readers = append(appendOf(out.readers, "readers", doc), `,"access":[`...)
	for i, principal := range doc.Access {
		if i > 0 {
			out.readers = append(out.readers, ',')
		}
		out.readers = ejson.AppendString(out.readers, principal)
	}
	out.readers = append(out.readers, "]}"...)
}

// flush ends the line of documents that is being made; when they expire comes in a line before it.
func (out *writer) flush() error {
	if out.inBatch == 0 {
		return nil
	}
	out.inBatch = 0
	if len(out.expires) > 0 {
		if err := out.put(append(out.expires, "]}\n"...)); err != nil {
			return err
		}
		out.expires = out.expires[:0]
	}
	if len(out.readers) > 0 {
		if err := out.put(append(out.readers, "]}\n"...)); err != nil {
			return err
		}
		out.readers = out.readers[:0]
	}
	return out.put(append(out.batch, ']', '\n'))
}

// attachments writes the bytes of a revision's attachments, or puts them into the document.
func (out *writer) attachments(doc *docread.Document) ([]compat.AttachmentView, error) {
	if len(doc.Attachments) == 0 {
		return nil, nil
	}
	views := make([]compat.AttachmentView, len(doc.Attachments))
	for i := range doc.Attachments {
		att := &doc.Attachments[i]
		views[i] = compat.AttachmentView{Attachment: att, EncodingInfo: true}
		if out.form == FormCouchBackup {
			var content bytes.Buffer
			whole := storage.AttachmentRange{To: -1, Gunzip: true}
			if err := out.db.Attachments().Read(out.ctx, att, whole, &content); err != nil {
				return nil, err
			}
			views[i] = compat.AttachmentView{Attachment: att, Form: compat.FormData, Content: content.Bytes()}
			out.sum.Attachments++
			continue
		}
		if err := out.bytes(att); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// bytes writes an attachment as it is stored.
func (out *writer) bytes(att *compat.Attachment) error {
	out.sum.Attachments++
	out.line = append(out.line[:0], `{"attachment":"`...)
	out.line = base64.StdEncoding.AppendEncode(out.line, att.Digest[:])
	out.line = append(append(out.line, `","encoding":"`...), att.Encoding.String()...)
	out.line = strconv.AppendInt(append(out.line, `","length":`...), att.Length, 10)
	out.line = strconv.AppendInt(append(out.line, `,"encoded_length":`...), att.EncodedLength, 10)
	if err := out.put(append(out.line, '}', '\n')); err != nil {
		return err
	}
	pieces := bufio.NewWriterSize(pieceWriter{out}, pieceBytes)
	var err error
	if out.read != nil {
		err = out.read(att, pieces)
	} else {
		err = out.db.Attachments().Read(out.ctx, att, storage.AttachmentRange{To: -1}, pieces)
	}
	return errors.Join(err, pieces.Flush())
}

// pieceWriter makes a line of each Write.
type pieceWriter struct{ out *writer }

// Write makes a line of a piece of an attachment.
func (p pieceWriter) Write(piece []byte) (int, error) {
	p.out.line = append(p.out.line[:0], `{"data":"`...)
	p.out.line = base64.StdEncoding.AppendEncode(p.out.line, piece)
	return len(piece), p.out.put(append(p.out.line, '"', '}', '\n'))
}
