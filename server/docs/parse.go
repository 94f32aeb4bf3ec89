package docs

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// DocRules are the checks in force for documents that are written.
func (d *Database) DocRules(ctx context.Context) (compat.DocRules, error) {
	partitioned, err := d.db.Partitioned(ctx)
	return compat.DocRules{
		IDs:               d.idRules(partitioned),
		MaxSize:           d.rules.MaxDocumentSize,
		MaxAttachmentSize: d.rules.MaxAttachmentSize,
		Terms:             true,
	}, err
}

func (d *Database) idRules(partitioned bool) compat.IDRules {
	return compat.IDRules{MaxLength: int(min(d.rules.MaxDocIDLength, 1<<31)), Partitioned: partitioned}
}

// newID makes an id for a new document.
func (d *Database) newID() string { return d.rules.UUIDs.Next() }

// Parser reads documents that are to be written to a database.
type Parser struct {
	d          *Database
	rules      compat.DocRules
	replicated bool // they come with their lines of revisions
}

// Parser begins to read documents, replicated ones or others.
func (d *Database) Parser(ctx context.Context, replicated bool) (*Parser, error) {
	rules, err := d.DocRules(ctx)
	rules.Terms = !replicated
	return &Parser{d: d, rules: rules, replicated: replicated}, err
}

// Parse reads and checks a document; one without an id gets a new one. It does not refer to v.
func (p *Parser) Parse(v ejson.Value) (*compat.Document, error) {
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
	if !doc.HasID {
		doc.ID = p.d.newID()
		if err := compat.ValidateDocID(doc.ID, p.rules.IDs); err != nil {
			return nil, err
		}
	}
	return doc, nil
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
