package views

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sort"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/views/keyrange"
	"github.com/settee-db/settee/views/reduce"
)

// languageJavaScript is the language of design documents that name none; languageQuery is Mango's.
const (
	languageJavaScript = "javascript"
	languageQuery      = "query"
)

// isScript reports whether functions in a language run in workers of js.
func isScript(language string) bool {
	_, ok := js.LanguageNamed(language)
	return ok
}

// Signature names what an index holds: all that the rows depend on goes into it.
type Signature [16]byte

// design is a design document as far as its views go. It is immutable.
type design struct {
	id          string
	language    string
	partitioned bool
	interactive bool
	localSeq    bool
	withDesign  bool // include_design
	lib         []byte
	views       []viewDef
	definitions []definition // one for each distinct map function
	signature   Signature    // of all of them, for _info
	// own has the same views by principal, for users of a database with access for each document; nil
	// where they have none (readers.go).
	own   *design
	bytes int // size in memory, roughly
}

// parsedSize is about how many bytes a parsed design document takes for each of its text: sources
// are held as they are and in other forms.
const parsedSize = 3

// viewDef is one view: a name for an index, perhaps with a reduce function.
type viewDef struct {
	name       string
	definition int    // into design.indexes
	reduce     string // source, as js.Language.Source gives it, or the name of a built-in one; "" if there is none
	hasReduce  bool
}

// definition is one map function with what its rows depend on.
type definition struct {
	signature   Signature
	language    string
	source      string // of the map function, as js.Language.Source gives it; the JSON of `map` if it is not scripted
	options     string // JSON of the view's `options`; "" if there are none
	lib         string // JSON of views.lib where the source may use it
	raw         bool   // collation
	partitioned bool
	interactive bool
	localSeq    bool
	withDesign  bool
	byPrincipal bool
	reduces     []string // the distinct reduce functions on top, sorted
}

// parseDesign reads a design document, whose body is a JSON object. Members of wrong types, which
// no checked document has, count as absent.
func parseDesign(id string, body ejson.Value, of databaseKind) *design {
	d := &design{id: id, language: languageJavaScript, partitioned: of.partitioned}
	if language, ok := body.Get("language"); ok && language.Kind() == ejson.String {
		d.language = language.Text()
	}
	options, _ := body.Get("options")
	d.localSeq = isTrue(options, "local_seq")
	d.withDesign = isTrue(options, "include_design")
	d.interactive = isTrue(options, "interactive") || d.language == languageQuery
	if p, ok := options.Get("partitioned"); ok {
		if wanted, ok := p.Bool(); ok && !wanted {
			d.partitioned = false
		}
	}
	views, _ := body.Get("views")
	if lib, ok := views.Get("lib"); ok && lib.Kind() == ejson.Object {
		d.lib = lib.AppendJSON(nil)
	}
	for name, def := range views.Members() {
		d.addView(name.Text(), def)
	}
	for i := range d.definitions {
		d.definitions[i].finish()
	}
	d.sign()
	if of.access && !d.partitioned && d.language != languageQuery && isTrue(options, "access") && isForUsers(body) {
		d.own = d.byPrincipal()
	}
	return d
}

func isTrue(options ejson.Value, name string) bool {
	member, _ := options.Get(name)
	b, _ := member.Bool()
	return b
}

// addView adds a member of `views` that has a map function.
func (d *design) addView(name string, view ejson.Value) {
	mapping, ok := view.Get("map")
	if !ok || view.Kind() != ejson.Object {
		return
	}
	def := definition{
		language: d.language, partitioned: d.partitioned, interactive: d.interactive,
		localSeq: d.localSeq, withDesign: d.withDesign,
	}
	script, known := js.LanguageNamed(def.language)
	if known {
		def.source = script.Source(mapping.Text())
		// The library is part of the signature only where the function may load it: a change of it
		// rebuilds no other index.
		if strings.Contains(def.source, "require") {
			def.lib = string(d.lib)
		}
	} else {
		def.source = string(mapping.AppendJSON(nil))
	}
	if options, ok := view.Get("options"); ok && options.Kind() == ejson.Object {
		def.options = string(options.AppendJSON(nil))
		if order, ok := options.Get("collation"); ok {
			def.raw = order.TextIs("raw")
		}
	}
	v := viewDef{name: name}
	if function, ok := view.Get("reduce"); ok && function.Kind() == ejson.String {
		v.reduce, v.hasReduce = function.Text(), true
		if !reduce.Builtin(v.reduce) {
			v.reduce = script.Source(v.reduce)
		}
	}
	// Views with the same map function share one index, also within a design document.
	v.definition = slices.IndexFunc(d.definitions, func(other definition) bool { return other.sameRows(&def) })
	if v.definition < 0 {
		v.definition = len(d.definitions)
		d.definitions = append(d.definitions, def)
	}
	if v.hasReduce {
		d.definitions[v.definition].reduces = append(d.definitions[v.definition].reduces, v.reduce)
	}
	if values, _ := mapping.Get("values"); d.language == languageQuery && values.Len() > 0 {
		d.definitions[v.definition].reduces = append(d.definitions[v.definition].reduces, reduce.Fields)
	}
	d.views = append(d.views, v)
}

// span is a range of row keys.
type span = keyrange.Range

// ranges makes the ranges that queries read.
func (def *definition) ranges() keyrange.Keys { return keyrange.Keys{Raw: def.raw} }

// sameRows reports whether two map functions of one design document give the same index.
func (def *definition) sameRows(other *definition) bool {
	return def.source == other.source &&
		(def.options == other.options || isScript(def.language) && def.raw == other.raw)
}

// finish sorts the reduce functions and signs.
func (def *definition) finish() {
	slices.Sort(def.reduces)
	def.reduces = slices.Compact(def.reduces)
	h := sha256.New()
	var flags byte
	for bit, set := range [...]bool{
		def.raw, def.partitioned, def.interactive, def.localSeq, def.withDesign, def.byPrincipal,
	} {
		if set {
			flags |= 1 << bit
		}
	}
	h.Write([]byte{formatVersion, flags})
	texts := []string{collate.Version, def.language, def.source, def.lib}
	if !isScript(def.language) {
		texts = append(texts, def.options)
	}
	for _, text := range texts {
		h.Write(binary.AppendUvarint(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	copy(def.signature[:], h.Sum(nil))
}

// sign makes the signature of the whole.
func (d *design) sign() {
	h := sha256.New()
	ordered := slices.Clone(d.views)
	sort.Slice(ordered, func(i, j int) bool { return ordered[i].name < ordered[j].name })
	for _, v := range ordered {
		h.Write(d.definitions[v.definition].signature[:])
		h.Write([]byte(v.name + "\x00" + v.reduce + "\x00"))
	}
	h.Write([]byte(d.language))
	copy(d.signature[:], h.Sum(nil))
}

// has reports whether one of the indexes has that signature.
func (d *design) has(signature Signature) bool {
	is := func(def definition) bool { return def.signature == signature }
	return slices.ContainsFunc(d.definitions, is) || d.own != nil && slices.ContainsFunc(d.own.definitions, is)
}

// find gives the view of that name.
func (d *design) find(name string) (*viewDef, error) {
	for i := range d.views {
		if d.views[i].name == name {
			return &d.views[i], nil
		}
	}
	return nil, errNoView
}

var errNoView = compat.NewError(compat.KindNotFound, "missing_named_view")
