package documents

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// DocRules are the checks in force for documents that are written.
func (d *Database) DocRules(ctx context.Context) (compat.DocRules, error) {
	partitioned, err := d.db.Settings().Partitioned(ctx)
	return compat.DocRules{
		IDs:               d.rules.ids(partitioned),
		MaxSize:           d.rules.MaxDocumentSize,
		MaxAttachmentSize: d.rules.MaxAttachmentSize,
		Edits:             true,
	}, err
}

// ids are the rules for ids of documents of a database.
func (r *Rules) ids(partitioned bool) compat.IDRules {
	return compat.IDRules{MaxLength: int(min(r.MaxDocIDLength, 1<<31)), Partitioned: partitioned}
}

// Parser reads documents that are to be written to a database.
type Parser struct {
	d *Database
	// What documents are checked against as they are read; the same for all documents of a request.
	rules      compat.DocRules
	replicated bool // they come with their lines of revisions
}

// Parser begins to read documents, replicated ones or others.
func (d *Database) Parser(ctx context.Context, replicated bool) (*Parser, error) {
	rules, err := d.DocRules(ctx)
	rules.Edits = !replicated
	return &Parser{d: d, rules: rules, replicated: replicated}, err
}

// AnyParent says that the caller sets the replaced revisions after parsing, so that no new revision
// ids are made yet. It returns p.
func (p *Parser) AnyParent() *Parser {
	p.rules.AnyParent = true
	return p
}

// Parse reads and checks a document; one without an id gets a new one. It does not refer to v.
func (p *Parser) Parse(v ejson.Value) (*compat.Document, error) {
	doc, err := p.read(v)
	if err == nil {
		err = p.name(doc)
	}
	if err != nil {
		return nil, err
	}
	return doc, nil
}

// parsedAhead is how many documents a processor reads in one go.
const parsedAhead = 64

// ParseAll is Parse for the values of a list, most at the most, on several processors; before is
// called with each of them first, one after the other. The error is that of the first that has one.
func (p *Parser) ParseAll(
	list iter.Seq[ejson.Value],
	most int,
	before func(ejson.Value) error,
) ([]*compat.Document, error) {
	docs := make([]*compat.Document, 0, most)
	workers := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	window := make([]ejson.Value, 0, min(most, workers*parsedAhead))
	flush := func() error {
		n := len(docs)
		docs = docs[:n+len(window)]
		err := p.readWindow(docs[n:], window)
		for _, doc := range docs[n:] {
			if err == nil {
				err = p.name(doc) // one after the other: ids ascend
			}
		}
		window = window[:0]
		return err
	}
	for v := range list {
		if err := before(v); err != nil {
			if earlier := flush(); earlier != nil {
				return nil, earlier
			}
			return nil, err
		}
		if window = append(window, v); len(window) == cap(window) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return docs, nil
}

// readWindow reads documents side by side.
func (p *Parser) readWindow(docs []*compat.Document, window []ejson.Value) error {
	if len(window) <= parsedAhead {
		return p.readInto(docs, window)
	}
	errs := make([]error, (len(window)+parsedAhead-1)/parsedAhead)
	var helpers sync.WaitGroup
	for n := range errs {
		from, to := n*parsedAhead, min((n+1)*parsedAhead, len(window))
		helpers.Go(func() { errs[n] = p.readInto(docs[from:to], window[from:to]) })
	}
	helpers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readInto reads some values one after the other and ends with the first that is wrong.
func (p *Parser) readInto(docs []*compat.Document, values []ejson.Value) (err error) {
	for i, v := range values {
		if docs[i], err = p.read(v); err != nil {
			return err
		}
	}
	return nil
}

// read is Parse but for the id of a document without one.
func (p *Parser) read(v ejson.Value) (*compat.Document, error) {
	doc, err := compat.ParseDocument(v, p.rules)
	if err != nil {
		return nil, err
	}
	if p.replicated {
		if err := doc.RequireRev(); err != nil {
			return nil, err
		}
	}
	if err := doc.ValidateAttachmentNames(); err != nil {
		return nil, err
	}
	return doc, nil
}

// name gives an id to a document without one.
func (p *Parser) name(doc *compat.Document) error {
	if doc.HasID {
		return nil
	}
	id, err := p.d.rules.UUIDs.Next()
	if err != nil {
		return err
	}
	doc.ID = id
	return compat.ValidateDocID(doc.ID, p.rules.IDs)
}

// ParseText is Parse for a JSON text.
func (p *Parser) ParseText(json []byte) (*compat.Document, error) {
	parser := ejson.AcquireParser()
	defer parser.Release()
	v, err := parser.Parse(json)
	if err != nil {
		return nil, compat.ErrInvalidJSON
	}
	return p.Parse(v)
}
