package search

import (
	"context"
	"crypto/md5" // what CouchDB names indexes by
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/analysis"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// signature names what an index holds: all that it depends on goes into it.
type signature [16]byte

// Definition is an index of a design document. It is immutable.
type Definition struct {
	Kind segment.Kind
	// DesignDoc is the id of the design document, Name the name of the index in it.
	DesignDoc, Name string
	// Signature is what CouchDB names the index by, in hexadecimal digits.
	Signature string
	// Partitioned says that a query names a partition.
	Partitioned bool

	source    string      // as js.Language.Source gives it
	script    js.Language // of source
	native    Mapper      // the language of an index without JavaScript
	language  string      // likewise, and
	text      []byte      // the definition: what an interactive index is made anew of
	later     bool        // options.interactive is false: the index is brought up to date before queries
	analyzers *analysis.Set
	synonyms  synonyms
	// Names the index in the store (sign). Design documents with the same definition share one
	// index.
	signature signature
}

// member is where definitions of a kind are in a design document.
func member(kind segment.Kind) string {
	if kind == segment.Nouveau {
		return "nouveau"
	}
	return "indexes"
}

// Lookup finds an index of a design document. The error is that of a missing design document, or
// what CouchDB says of a definition that is none; then there is a Definition all the same, which
// cannot be used.
func (x *Indexes) Lookup(
	ctx context.Context, db *storage.DB, kind segment.Kind, ddoc, name string,
) (def *Definition, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		doc, err := s.Open(ddoc, docread.OpenOptions{})
		if err == nil {
			err = s.HoldParsed(doc.Body)
		}
		if err != nil {
			return err
		}
		body, err := ejson.Parse(doc.Body)
		if err != nil {
			return corrupt("design document")
		}
		def, err = x.opts.newDefinition(body, kind, ddoc, name, s.Partitioned())
		return err
	})
	return def, err
}

// newDefinition reads a definition (dreyfus_index, nouveau_util: design_doc_to_index). partitioned
// is the kind of the database.
func (o *Options) newDefinition(
	body ejson.Value, kind segment.Kind, ddoc, name string, partitioned bool,
) (*Definition, error) {
	def := &Definition{Kind: kind, DesignDoc: ddoc, Name: name, Partitioned: partitioned}
	if options, ok := body.Get("options"); ok {
		if p, ok := options.Get("partitioned"); ok {
			if b, ok := p.Bool(); ok {
				def.Partitioned = b
			}
		}
		if p, ok := options.Get("interactive"); ok {
			interactive, isBool := p.Bool()
			def.later = isBool && !interactive
		}
	}
	all, _ := body.Get(member(kind))
	d, ok := all.Get(name)
	if all.Kind() != ejson.Object || !ok {
		return def, compat.NewError(compat.KindNotFound, name+" not found.")
	}
	source, ok := d.Get("index")
	if d.Kind() != ejson.Object || !ok {
		return def, compat.Named(compat.KindUnknown, "invalid_design_doc",
			"index `"+name+"` must have parameter `index`")
	}
	var analyzers []ejson.Value
	var err error
	language, ok := body.Get("language")
	script, isScript := js.LanguageNamed(language.Text())
	switch {
	case !ok, language.Kind() != ejson.String, isScript:
		def.script, def.source = script, script.Source(source.Text())
		analyzers, err = def.readAnalyzers(d)
	case o.Languages[language.Text()] != nil:
		def.language = language.Text()
		analyzers, err = def.compile(o.Languages[def.language], d, source)
	default:
		err = compat.NewError(compat.KindNotImplemented,
			"Indexes of full-text search in the language "+language.Text()+" are not part of this server.")
	}
	if err == nil {
		err = def.readSynonyms(d)
	}
	if err != nil {
		return def, err
	}
	def.sign(source, d, analyzers, partitioned)
	return def, nil
}

var errNoAnalyzer = compat.Named(compat.KindUnknown, "unknown_error", "no_such_analyzer")

func errNoAnalyzerNamed(name string) error {
	return compat.NewError(compat.KindBadRequest, name+" is not a valid analyzer name")
}

// readAnalyzers reads the analyzers of an index of JavaScript, and gives what the definition has of
// them.
func (def *Definition) readAnalyzers(d ejson.Value) (analyzers []ejson.Value, err error) {
	if def.Kind == segment.Nouveau {
		standard, _ := d.Get("default_analyzer")
		fields, _ := d.Get("field_analyzers")
		var unknown string
		if def.analyzers, unknown, err = analysis.NouveauSet(standard.Text(), fields); err != nil {
			return nil, errNoAnalyzerNamed(unknown)
		}
		return []ejson.Value{standard, fields}, nil
	}
	analyzer, _ := d.Get("analyzer")
	if def.analyzers, err = analysis.ClouseauSet(analyzer); err != nil {
		return nil, errNoAnalyzer
	}
	return []ejson.Value{analyzer}, nil
}

// sign makes both signatures. The own one names the index in the store: it changes with all that
// changes terms, so that such an index is built anew. The other one is what Clouseau and Nouveau
// compute from the definition, as a hash of an Erlang term, and is only shown by _search_info.
func (def *Definition) sign(source, d ejson.Value, analyzers []ejson.Value, partitioned bool) {
	own := sha256.New()
	// The versions of formats and of the analyzers go in, so that a newer program builds the index
	// anew instead of reading terms that it would make otherwise.
	own.Write([]byte{recordFormat, analysis.Version, byte(def.Kind)})
	if partitioned {
		own.Write([]byte{1})
	}
	if def.script == js.CoffeeScript {
		own.Write([]byte{3})
	}
	all := append(slices.Clone(analyzers), source)
	if def.native != nil {
		own.Write([]byte{0, nativeFormat})
		if def.later {
			own.Write([]byte{2})
		}
		analyzer, _ := d.Get("analyzer")
		all = append(all, analyzer)
	}
	for _, v := range all {
		text := v.AppendJSON(nil)
		own.Write(binary.AppendUvarint(nil, uint64(len(text))))
		own.Write(text)
	}
	copy(def.signature[:], own.Sum(nil))

	term := ejson.AppendTermTuple([]byte{131}, 1+len(analyzers))
	for i, v := range analyzers {
		switch {
		case i == 1:
			term = appendTermMap(term, v)
		case v.Kind() == ejson.Invalid:
			term = ejson.AppendTermBinary(term, "standard")
		default:
			term = v.AppendTerm(term)
		}
	}
	term = source.AppendTerm(term)
	if def.Kind == segment.Nouveau {
		sum := sha256.Sum256(term)
		def.Signature = hex.EncodeToString(sum[:])
	} else {
		sum := md5.Sum(term)
		def.Signature = hex.EncodeToString(sum[:])
	}
}

// appendTermMap appends the members of an object as a map of Erlang's external term format.
func appendTermMap(term []byte, object ejson.Value) []byte {
	members := map[string]ejson.Value{}
	if object.Kind() == ejson.Object {
		for name, v := range object.Members() {
			members[name.Text()] = v
		}
	}
	const tagMap = 116
	term = binary.BigEndian.AppendUint32(append(term, tagMap), uint32(len(members)))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		term = ejson.AppendTermBinary(term, name)
		term = members[name].AppendTerm(term)
	}
	return term
}

// wants reports whether a document goes through the index function at all.
func (def *Definition) wants(id string, partitioned bool) bool {
	return !compat.IsDesignID(id) || def.Kind == segment.Clouseau && !partitioned &&
		def.native == nil
}
