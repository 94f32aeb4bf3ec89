package main

import (
	"context"
	"fmt"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	bq "github.com/blevesearch/bleve/v2/search/query"
)

// peer is Bleve with its index scorch, as it is by default.
type peer struct {
	dir   string
	index bleve.Index
	there bool
}

func newBleve(dir string) (*peer, error) {
	if index, err := bleve.Open(dir); err == nil {
		return &peer{dir, index, true}, nil
	}
	text := bleve.NewTextFieldMapping()
	text.Analyzer = standard.Name
	text.Store, text.IncludeInAll, text.DocValues = false, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("t", text)
	mapping := bleve.NewIndexMapping()
	mapping.DefaultMapping = doc
	mapping.DefaultField = "t"
	index, err := bleve.New(dir, mapping)
	return &peer{dir, index, false}, err
}

func (p *peer) built(context.Context) (bool, error) { return p.there, nil }

// build indexes docs texts and returns the time that Bleve took, without that of making the texts.
func (p *peer) build(_ context.Context, docs int, next func() string) (time.Duration, error) {
	const together = 1000
	var took time.Duration
	for from := 0; from < docs; from += together {
		batch := p.index.NewBatch()
		texts := make([]string, min(together, docs-from))
		for i := range texts {
			texts[i] = next()
		}
		began := time.Now()
		for i, text := range texts {
			if err := batch.Index(fmt.Sprintf("d%09d", from+i), map[string]any{"t": text}); err != nil {
				return 0, err
			}
		}
		if err := p.index.Batch(batch); err != nil {
			return 0, err
		}
		took += time.Since(began)
	}
	return took, nil
}

// ask runs a query and returns the number of documents that match. Ten hits are read, as on a first
// page.
func (p *peer) ask(ctx context.Context, q query) (int64, error) {
	var parts []bq.Query
	for _, word := range q.words {
		term := bleve.NewTermQuery(word)
		term.SetField("t")
		parts = append(parts, term)
	}
	var of bq.Query
	switch q.kind {
	case "and":
		of = bleve.NewConjunctionQuery(parts...)
	case "or":
		of = bleve.NewDisjunctionQuery(parts...)
	case "phrase":
		of = bleve.NewPhraseQuery(q.words, "t")
	case "prefix":
		prefix := bleve.NewPrefixQuery(q.words[0])
		prefix.SetField("t")
		of = prefix
	}
	result, err := p.index.SearchInContext(ctx, bleve.NewSearchRequestOptions(of, 10, 0, false))
	if err != nil {
		return 0, err
	}
	return int64(result.Total), nil
}

func (p *peer) bytes() (int64, error) { return size(p.dir) }
func (p *peer) close() error          { return p.index.Close() }
