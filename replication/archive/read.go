package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
)

// ErrFormat is the error for a stream that is no archive, or a damaged one.
var ErrFormat = errors.New("archive: malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// maxLine is the length of the longest line that is read: one document, with its attachments in
// FormCouchBackup.
const maxLine = 1 << 30

// Header is what an archive says about a database; FormCouchBackup says nothing.
type Header struct {
	Form        Form
	Database    string
	Seq         string
	Partitioned bool
	RevsLimit   int64
	// PurgedInfosLimit is 0, and AutoPurge and History "", where the archive does not say: one of an
	// older version, or of a database whose deleted documents and replaced revisions are kept as the
	// server's settings say.
	PurgedInfosLimit int64
	AutoPurge        string
	History          string
	Security         []byte // nil: none was set
	// Access tells of a database with access for each document, and Share what users may name there.
	Access bool
	Share  access.Share
}

// sink receives the parts of an archive from a reader, in their order.
type sink interface {
	// attachment reads the stored bytes of the next revision's next attachment from r to its end.
	attachment(att compat.Attachment, r io.Reader) error
	// revisions takes a batch. The documents' stubs stand for the attachments that came before, in
	// their order.
	revisions(docs []*compat.Document) error
	// expires tells when revisions of the next batch expire, in milliseconds since 1970.
	expires(times map[storage.ReadRev]int64)
	// readers tells who may read tombstones of the next batch whose bodies do not tell.
	readers(of map[storage.ReadRev][]string)
	// group is one of a database with access for each document.
	group(g *groups.Group) error
}

// Reader reads an archive, database by database.
type Reader struct {
	r       *bufio.Reader
	line    []byte // the line to be looked at next, nil: to be read
	digest  hash.Hash
	started bool
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 256<<10)} }

// next gives the next line with its end, which is part of what is summed up. It is valid until the
// next call of skip.
func (a *Reader) next() ([]byte, error) {
	for a.line == nil {
		line, err := readLine(a.r)
		if err != nil {
			return nil, err
		}
		if len(line) > 1 {
			a.line = line
		}
	}
	return a.line, nil
}

// skip takes the line.
func (a *Reader) skip() { a.line = nil }

// readLine reads a line with its end, of at most maxLine bytes; a longer line is malformed. The
// last line may lack its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if len(line)+len(piece) > maxLine {
			return nil, malformed("a line of more than %d bytes", maxLine)
		}
		line = append(line, piece...)
		switch {
		case err == nil, err == io.EOF && len(line) > 0:
			return line, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// Next gives the header of the next database; io.EOF after the last one.
func (a *Reader) Next() (Header, error) {
	line, err := a.next()
	if err != nil {
		return Header{}, err
	}
	if line[0] == '[' && !a.started { // an old couchbackup has no metadata
		a.started, a.digest = true, nil
		return Header{Form: FormCouchBackup}, nil
	}
	v, err := ejson.Parse(line)
	if err != nil {
		return Header{}, malformed("header: %v", err)
	}
	h, err := parseHeader(v)
	if err != nil {
		return h, err
	}
	a.skip()
	if a.started, a.digest = true, nil; h.Form == FormNative {
		a.digest = sha256.New()
	}
	return h, nil
}

// parseHeader reads the first line. couchbackup's header names only the program, so that nothing
// else is taken of it; of its own form, an unknown version is refused, because a later one may mean
// something else by the same lines.
func parseHeader(v ejson.Value) (h Header, err error) {
	name, _ := v.Get("name")
	switch name.Text() {
	case "@cloudant/couchbackup":
		h.Form = FormCouchBackup
		return h, nil
	case "settee":
	default:
		return h, malformed("the header is of %q", name.Text())
	}
	format, _ := v.Get("format")
	share, _ := v.Get("access")
	switch n, _ := format.Int(); {
	case n == 1:
	case n == 2 && (share.TextIs("self") || share.TextIs("any")):
		h.Access, h.Share = true, access.ShareOf(share.TextIs("any"))
	default:
		return h, malformed("format %s is not known", format.Raw())
	}
	text := func(name string) string {
		m, _ := v.Get(name)
		return m.Text()
	}
	h.Database, h.Seq = text("db"), text("seq")
	partitioned, _ := v.Get("partitioned")
	h.Partitioned, _ = partitioned.Bool()
	limit, _ := v.Get("revs_limit")
	if h.RevsLimit, _ = limit.Int(); h.RevsLimit < 1 || h.Database == "" {
		return h, malformed("header")
	}
	infos, _ := v.Get("purged_infos_limit")
	h.PurgedInfosLimit, _ = infos.Int()
	h.AutoPurge, h.History = text("deleted_document_ttl"), text("history")
	if h.PurgedInfosLimit < 0 || max(len(h.AutoPurge), len(h.History)) > keyspace.MaxAutoPurge {
		return h, malformed("header")
	}
	if security, ok := v.Get("security"); ok {
		h.Security = security.AppendJSON(nil)
	}
	return h, nil
}

// read hands a database to the sink, up to its end.
func (a *Reader) read(h Header, to sink) (Summary, error) {
	sum := Summary{Database: h.Database, Seq: h.Seq}
	last := ""
	for {
		line, err := a.next()
		if err == io.EOF && h.Form == FormCouchBackup {
			return sum, nil
		}
		if err != nil {
			return sum, cutOff(err)
		}
		v, err := ejson.Parse(line)
		if err != nil {
			return sum, malformed("line: %v", err)
		}
		if _, isEnd := v.Get("end"); isEnd && h.Form == FormNative {
			a.skip()
			return sum, a.end(v, &sum)
		}
		a.sum(line)
		a.skip()
		switch digest, _ := v.Get("attachment"); {
		case v.Kind() == ejson.Array:
			err = readBatch(v, &sum, &last, to)
		case digest.Kind() == ejson.String:
			sum.Attachments++
			err = a.attachment(v, to)
		default:
			err = readAbout(v, h, to)
		}
		if err != nil {
			return sum, err
		}
	}
}

// sum adds a line to the digest that the last line has.
func (a *Reader) sum(line []byte) {
	if a.digest != nil {
		a.digest.Write(line)
	}
}

// cutOff tells an archive that ends too early from an error of reading.
func cutOff(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return malformed("it is cut off")
	}
	return err
}

// end compares the end line with what came.
func (a *Reader) end(v ejson.Value, sum *Summary) error {
	number := func(name string) int64 {
		m, _ := v.Get(name)
		n, _ := m.Int()
		return n
	}
	digest, _ := v.Get("sha256")
	if !digest.TextIs(hex.EncodeToString(a.digest.Sum(nil))) {
		return malformed("the checksum of database %q is wrong", sum.Database)
	}
	if number("documents") != sum.Documents || number("revisions") != sum.Revisions ||
		number("attachments") != sum.Attachments {
		return malformed("database %q is not whole", sum.Database)
	}
	return nil
}

// rules of documents in archives: they are as they were stored, whatever today's limits are.
var rules = compat.DocRules{IDs: compat.IDRules{}}

// takeTypes reads the content types of attachments as couchbackup 2.11 spells them.
func takeTypes(v ejson.Value, doc *compat.Document) {
	atts, _ := v.Get("_attachments")
	i := 0
	for _, att := range atts.Members() {
		if text, ok := att.Get("contentType"); ok && i < len(doc.Attachments) {
			doc.Attachments[i].Type = text.Text()
		}
		i++
	}
}

// readBatch hands a line of revisions on. The revisions of a document follow each other, also over
// the end of a line; last is the document that the line before ended with, so that it is counted
// once.
func readBatch(v ejson.Value, sum *Summary, last *string, to sink) error {
	docs := make([]*compat.Document, 0, v.Len())
	for e := range v.Elements() {
		doc, err := compat.ParseDocument(e, rules)
		if err != nil {
			return fmt.Errorf("%w: document: %w", ErrFormat, err)
		}
		if !doc.HasID || len(doc.Revs.IDs) == 0 {
			return malformed("a document without id or revision")
		}
		if sum.Revisions++; doc.ID != *last {
			sum.Documents++
			*last = doc.ID
		}
		takeTypes(e, doc)
		docs = append(docs, doc)
	}
	return to.revisions(docs)
}

// readAbout hands on what a line tells that has no revisions.
func readAbout(v ejson.Value, h Header, to sink) error {
	if name, ok := v.Get("group"); ok && h.Access {
		body, _ := v.Get("body")
		g := groups.Group{Name: name.Text()}
		err := groups.CheckName(g.Name)
		if err == nil {
			g.Members, g.Revision, err = groups.Parse(g.Name, body)
		}
		if err != nil || g.Revision == 0 {
			return malformed("group %q", g.Name)
		}
		return to.group(&g)
	}
	if of, ok := v.Get("readers"); ok {
		return readReaders(of, to)
	}
	return readExpires(v, to)
}

// readExpires hands on when revisions of the next batch expire.
func readExpires(v ejson.Value, to sink) error {
	list, _ := v.Get("expires")
	times := make(map[storage.ReadRev]int64, list.Len())
	for e := range list.Elements() {
		id, _ := e.Get("id")
		text, _ := e.Get("rev")
		ms, _ := e.Get("ms")
		rev, err := compat.ParseRev(text.Text())
		n, ok := ms.Int()
		if err != nil || !ok || n <= 0 || id.Text() == "" {
			return malformed("when a revision expires")
		}
		times[storage.ReadRev{ID: id.Text(), Rev: rev}] = n
	}
	if len(times) == 0 {
		return malformed("unexpected line")
	}
	to.expires(times)
	return nil
}

// readReaders hands on who may read tombstones of the next batch.
func readReaders(list ejson.Value, to sink) error {
	of := make(map[storage.ReadRev][]string, list.Len())
	for e := range list.Elements() {
		id, _ := e.Get("id")
		text, _ := e.Get("rev")
		principals, _ := e.Get("access")
		own := make([]string, 0, principals.Len())
		for principal := range principals.Elements() {
			own = append(own, principal.Text())
		}
		rev, err := compat.ParseRev(text.Text())
		if err != nil || id.Text() == "" || !access.IsList(own) {
			return malformed("who may read a revision")
		}
		of[storage.ReadRev{ID: id.Text(), Rev: rev}] = own
	}
	to.readers(of)
	return nil
}

// attachment hands an attachment's bytes over.
func (a *Reader) attachment(v ejson.Value, to sink) error {
	att := compat.Attachment{HasDigest: true, Source: compat.SourceStored}
	text, _ := v.Get("attachment")
	digest, err := base64.StdEncoding.DecodeString(text.Text())
	if err != nil || copy(att.Digest[:], digest) != len(att.Digest) {
		return malformed("digest")
	}
	if encoding, _ := v.Get("encoding"); encoding.TextIs(compat.EncodingGzip.String()) {
		att.Encoding = compat.EncodingGzip
	}
	length, _ := v.Get("length")
	stored, _ := v.Get("encoded_length")
	att.Length, _ = length.Int()
	var ok bool
	if att.EncodedLength, ok = stored.Int(); !ok || att.EncodedLength < 0 || att.EncodedLength == math.MaxInt64 {
		return malformed("length of an attachment")
	}
	pieces := &pieceReader{a: a, left: att.EncodedLength}
	if err := to.attachment(att, pieces); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, pieces)
	return err
}

// pieceReader reads the bytes of an attachment from its lines.
type pieceReader struct {
	a     *Reader
	left  int64
	piece []byte
}

// Read implements io.Reader.
func (p *pieceReader) Read(b []byte) (int, error) {
	for len(p.piece) == 0 {
		if p.left == 0 {
			return 0, io.EOF
		}
		line, err := p.a.next()
		if err != nil {
			return 0, cutOff(err)
		}
		v, err := ejson.Parse(line)
		if err != nil {
			return 0, malformed("line: %v", err)
		}
		data, _ := v.Get("data")
		if p.piece, err = base64.StdEncoding.DecodeString(data.Text()); err != nil || len(p.piece) == 0 ||
			int64(len(p.piece)) > p.left {
			return 0, malformed("bytes of an attachment")
		}
		p.a.sum(line)
		p.a.skip()
		p.left -= int64(len(p.piece))
	}
	n := copy(b, p.piece)
	p.piece = p.piece[n:]
	return n, nil
}
