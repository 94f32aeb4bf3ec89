package views

import (
	"context"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/docread"
)

// source is one document on its way through the map functions.
type source struct {
	id  string
	seq storage.Seq
	// it goes through the map functions: it is not deleted, and the indexes want such documents
	mapped  bool
	text    []byte            // for JavaScript
	doc     *docread.Document // for other languages
	readers []string          // for indexes by principal: who may read it
	byIndex []docRows         // one for each index of the pass
}

// program is the map functions of one design document that run together. It is safe for concurrent
// use.
type program struct {
	js      JavaScript
	defs    []*definition
	scripts *js.MapProgram // of the indexes in JavaScript; nil if there are none
	mappers []Mapper       // by index; nil where it is JavaScript
	limits  limits
	memory  int64 // see Options.WorkerMemory
}

// sized is a Mapper that knows how many bytes of memory it takes at most.
type sized interface{ Size() int }

// size is about how many bytes the program takes.
func (p *program) size() int {
	bytes := 1000
	for i, def := range p.defs {
		bytes += len(def.source) + len(def.options) + len(def.lib)
		if m, ok := p.mappers[i].(sized); ok {
			bytes += m.Size()
		}
	}
	return bytes
}

// program compiles the map functions of indexes of one design document; the error is that of a
// query.
func (v *Views) program(tenant string, defs []*definition) (*program, error) {
	p := &program{js: v.opts.JS, defs: defs, limits: v.limits, memory: v.opts.WorkerMemory}
	p.mappers = make([]Mapper, len(defs))
	var sources []string
	var lib []byte
	for i, def := range defs {
		if v.opts.JS != nil && isScript(def.language) {
			sources = append(sources, def.source)
			if def.lib != "" {
				lib = []byte(def.lib)
			}
			continue
		}
		language := v.opts.Languages[def.language]
		if language == nil {
			return nil, compat.Named(compat.KindUnknown, "unknown_query_language", def.language)
		}
		definition := Definition{Map: []byte(def.source)}
		if def.options != "" {
			definition.Options = []byte(def.options)
		}
		m, err := language.Compile(definition)
		if err != nil {
			return nil, err
		}
		p.mappers[i] = m
	}
	if len(sources) > 0 {
		p.scripts = js.NewMapProgram(tenant, sources, lib)
	}
	return p, nil
}

// needsText reports whether documents are wanted as JSON texts.
func (p *program) needsText() bool { return p.scripts != nil }

// needsDocuments reports whether they are wanted as they are stored.
func (p *program) needsDocuments() bool {
	return p.scripts == nil || len(p.scripts.Maps) < len(p.defs)
}

// members are what is looked at of bodies.
func (p *program) members() docread.Members {
	members := docread.NoMembers
	if slices.ContainsFunc(p.defs, func(def *definition) bool { return def.byPrincipal }) {
		members = docread.Members{[]byte(`"_access"`)}
	}
	for _, m := range p.mappers {
		some, ok := m.(interface{ Members() docread.Members })
		if !ok {
			return nil
		}
		members = members.With(some.Members())
	}
	return members
}

// run maps documents and fills in their rows. A document whose map function throws, or has to be
// ended, has no rows and a failure. Any other error ends the run; done is the number of documents
// that have their rows then: errCut after rows of most bytes, or some seconds in a worker.
func (p *program) run(ctx context.Context, docs []source, most int) (done int, err error) {
	mapped := make([]*source, 0, len(docs))
	all := make([]docRows, len(docs)*len(p.defs))
	for i := range docs {
		docs[i].byIndex = all[i*len(p.defs) : (i+1)*len(p.defs)]
		if docs[i].mapped {
			mapped = append(mapped, &docs[i])
		}
	}
	if len(mapped) == 0 {
		return len(docs), nil
	}
	for n, m := range p.mappers {
		if m == nil {
			continue
		}
		c := p.collector(n)
		for _, src := range mapped {
			c.readers = src.readers
			src.byIndex[n] = mapOne(c, m, src.doc)
		}
	}
	if !p.needsText() {
		return len(docs), nil
	}
	n, err := p.runJavaScript(ctx, mapped, most)
	if n == len(mapped) {
		return len(docs), err
	}
	return slices.IndexFunc(docs, func(src source) bool { return src.id == mapped[n].id }), err
}

func (p *program) collector(n int) *collector {
	def := p.defs[n]
	return &collector{
		limits: p.limits, raw: def.raw, partitioned: def.partitioned, byPrincipal: def.byPrincipal,
		keepOversized: def.keepsOversized(),
	}
}

// mapOne maps a document in the process.
func mapOne(c *collector, m Mapper, doc *docread.Document) docRows {
	c.begin(doc.ID)
	failure := ""
	err := m.Map(doc, func(key, value []byte) {
		if failure == "" {
			failure = c.emit(key, value)
		} else {
			c.begun.several = true
		}
	})
	if err != nil {
		return docRows{failure: err.Error()}
	}
	if failure != "" {
		return c.failed(doc.ID, failure)
	}
	return c.end(doc.ID)
}

// maxCrossings is how many calls of half a second a batch is mapped in: other builds may wait.
const maxCrossings = 8

// runJavaScript maps documents in a worker process, and tells how many have their rows.
func (p *program) runJavaScript(ctx context.Context, mapped []*source, most int) (done int, err error) {
	texts := make([][]byte, len(mapped))
	for i, src := range mapped {
		texts[i] = src.text
	}
	scripts := make([]int, 0, len(p.defs)) // index of each script
	collectors := make([]*collector, 0, len(p.defs))
	for n, m := range p.mappers {
		if m == nil {
			scripts = append(scripts, n)
			collectors = append(collectors, p.collector(n))
		}
	}
	next, crossings := 0, 0
	return js.MapEach(ctx, p.js, p.scripts, texts, func(results []js.DocResult) error {
		for doc := range results {
			src := mapped[next]
			next++
			for n, c := range collectors {
				c.readers = src.readers
				rows := c.collect(src.id, &results[doc][n])
				if results[doc][n].Killed && strings.Contains(rows.failure, js.OutOfMemory) {
					rows.lack = again.Lack{Of: again.Worker, Bytes: p.memory}
				}
				src.byIndex[scripts[n]] = rows
			}
			most -= src.size()
		}
		if !results[0][0].Killed { // those are counted by MapEach
			crossings++
		}
		if next < len(mapped) && (most < 0 || crossings == maxCrossings) {
			return errCut
		}
		return nil
	})
}

// collect makes the rows of one document of what its map function emitted.
func (c *collector) collect(docID string, result *js.MapResult) docRows {
	if result.Err != "" {
		return docRows{failure: result.Err}
	}
	c.begin(docID)
	for i := range result.Rows {
		if failure := c.emit(result.Rows[i].Key, result.Rows[i].Value); failure != "" {
			return docRows{failure: failure}
		}
	}
	return c.end(docID)
}

// appendSource appends a document as map functions get it: with its attachments and, if it has any,
// its conflicts and deleted conflicts, and with localSeq the number of its sequence.
func appendSource(dst []byte, doc *docread.Document, localSeq bool, number uint64) []byte {
	view := compat.DocumentView{
		ID: doc.ID, Rev: doc.Rev, Body: doc.Body, HasLocalSeq: localSeq, LocalSeq: int64(number),
	}
	if len(doc.Conflicts) > 0 {
		view.Conflicts = doc.Conflicts
	}
	if len(doc.DeletedConflicts) > 0 {
		view.DeletedConflicts = doc.DeletedConflicts
	}
	for i := range doc.Attachments {
		view.Attachments = append(view.Attachments, compat.AttachmentView{Attachment: &doc.Attachments[i]})
	}
	return compat.AppendDocument(dst, &view)
}
