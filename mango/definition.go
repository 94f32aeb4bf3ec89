package mango

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/views/reduce"
)

// Definition is a checked request to create an index.
//
// It lives from the request to the change of the design document (AddTo); what queries use later is
// an Index, read from that document.
type Definition struct {
	DDoc string // with prefix
	Name string

	// As asked for, nil if it was not: then the design document gets no option, and the index
	// follows the database.
	partitioned *bool
	// The definition as it was sent. It is stored too, under options.def of the view, so that
	// listings show the user's own words.
	given  []byte
	kind   Kind
	fields Sort // of KindJSON
	// Only documents that pass it have a row; never nil in a definition of KindJSON that was read.
	filter *selector.Selector
	values []string     // of KindJSON: the fields whose sums it has
	access bool         // of KindJSON: it has rows of each principal
	text   *textOptions // of KindText and KindNouveau
}

// ParseDefinition reads the body of POST /db/_index, an object (mango_opts:validate_idx_create/1,
// mango_idx:new/2, mango_idx_view:validate_new/2). follows36 refuses filters with names of fields
// that cannot be read, as CouchDB 3.6 does.
func ParseDefinition(body ejson.Value, follows36 bool) (*Definition, error) {
	m := newMembers(body)
	given, _ := m.require("index")
	// The quorum w has no meaning here, but a wrong one is refused as by CouchDB, and it goes into
	// the generated name.
	kind, name, ddoc, w := "json", "", "", number{n: 2, text: "2"}
	m.text("type", false, &kind)
	hasName := m.text("name", true, &name)
	hasDDoc := m.text("ddoc", true, &ddoc)
	m.integer("w", true, &w)
	d := &Definition{Name: name, DDoc: DesignID(ddoc), given: given.AppendJSON(nil)}
	if v, ok := m.take("partitioned"); ok {
		partitioned, isBool := v.Bool()
		// mango_opts has no clause for other values than booleans and crashes; the text of the
		// answer is that of the crash.
		if d.partitioned = &partitioned; !isBool {
			m.err = errNoClause("mango_opts", "invalid_partitioned_value", v)
		}
	}
	if err := m.finish(); err != nil {
		return nil, err
	}
	switch kind {
	case "json":
	case KindAllFields.String():
		d.kind = KindAllFields
	case KindText.String():
		d.kind = KindText
	case KindNouveau.String():
		d.kind = KindNouveau
	default:
		return nil, compat.Named(compat.KindBadRequest, "invalid_index", "Invalid type for index: "+kind)
	}
	// The name is generated from the request as it came, before Complete adds defaults: the same
	// request names the same index on a CouchDB beside it.
	generated := generatedName(body, given, kind, w)
	if !hasName {
		d.Name = generated
	}
	if !hasDDoc {
		d.DDoc = DesignID(generated)
	}
	return d, d.read(given, follows36)
}

// AllFieldsDefaults are what new indexes over all fields have where their requests say nothing.
type AllFieldsDefaults struct {
	Exclude       []string
	Depth, Values int
}

// Complete gives an index of type "auto" what its request left to the defaults. What is allfields's
// own default is not written down.
func (d *Definition) Complete(defaults AllFieldsDefaults) error {
	if !d.AllFields() {
		return nil
	}
	given, err := ejson.Parse(d.given)
	if err != nil {
		return err
	}
	// Each call parses the definition again: it is short, and members stay in the order of the
	// request.
	set := func(name string, value []byte) {
		if _, ok := given.Get(name); !ok && err == nil {
			d.given = appendWith(nil, given, name, value)
			given, err = ejson.Parse(d.given)
		}
	}
	if n := defaults.Depth; n != allfields.DefaultDepth && n > 0 {
		set(allfields.MemberDepth, strconv.AppendInt(nil, int64(min(n, allfields.MaxDepth)), 10))
	}
	if n := defaults.Values; n != allfields.DefaultValues && n > 0 {
		set(allfields.MemberValues, strconv.AppendInt(nil, int64(min(n, allfields.MaxValues)), 10))
	}
	if len(defaults.Exclude) > 0 {
		set(allfields.MemberExclude, ejson.AppendStrings(nil, defaults.Exclude))
	}
	return err
}

// AllFields reports whether the index is over all fields.
func (d *Definition) AllFields() bool { return d.kind == KindAllFields }

// Kind is the kind of index.
func (d *Definition) Kind() Kind { return d.kind }

// ByPrincipal reports whether it is for users of a database with access for each document.
func (d *Definition) ByPrincipal() bool { return d.access }

// ErrNoAccess refuses such an index in another database.
var ErrNoAccess = errAccess("The database has no access for each document.")

func errAccess(reason string) error {
	return compat.Named(compat.KindBadRequest, "invalid_index", reason)
}

// AllOfText reports whether it is a text index of all fields.
func (d *Definition) AllOfText() bool { return d.text != nil && d.text.all }

// CheckText refuses a text index of all fields where the setting mango/index_all_disabled says so
// (mango_idx_text:maybe_reject_index_all_req/2).
func (d *Definition) CheckText(indexAllDisabled string) error {
	if d.AllOfText() && indexAllDisabled == "true" {
		return errIndexAllDisabled
	}
	return nil
}

// read checks the definition itself.
func (d *Definition) read(given ejson.Value, follows36 bool) (err error) {
	switch {
	case d.kind.IsText():
		d.text, err = readTextOptions(given, d.kind, follows36)
		return err
	case d.AllFields():
		return checkAllFields(given)
	}
	if given.Kind() != ejson.Object {
		return compat.Named(compat.KindBadRequest, "invalid_index", "JSON indexes must be an object, not: "+term(given))
	}
	m := newMembers(given)
	d.filter = new(selector.Selector)
	if v, ok := m.require("fields"); ok {
		d.fields, m.err = parseSort(v)
	}
	if v, ok := m.take("partial_filter_selector"); ok {
		if err := checkFilterSize(v); err != nil {
			return err
		}
		d.filter = m.selector(v, follows36)
	}
	if v, ok := m.take("values"); ok {
		if d.values = fieldsOfValues(v); d.values == nil && m.err == nil {
			m.err = compat.Named(compat.KindBadRequest, "invalid_values",
				"values must be a list of 1 to "+strconv.Itoa(reduce.MaxFields)+" names of fields, not: "+term(v))
		}
	}
	m.boolean("access", &d.access)
	if d.access && d.values != nil && m.err == nil {
		m.err = errAccess("An index with access has no values.")
	}
	if err := m.finish(); err != nil {
		return err
	}
	return checkFilter(d.filter)
}

// maxFilter bounds the Size of a partial index's selector: those of all databases in use stay in
// memory, and each write of a document goes through it. CouchDB has no bound.
const maxFilter = 1 << 20

// errFilterTooLarge answers a request. A definition that came in a design document by replication
// has nobody to answer: newMapper gives its index no rows.
var errFilterTooLarge = compat.Named(compat.KindBadRequest, "invalid_partial_filter_selector",
	"partial_filter_selector has too many conditions")

func checkFilterSize(filter ejson.Value) error {
	if selector.Size(filter) > maxFilter {
		return errFilterTooLarge
	}
	return nil
}

// checkFilter refuses patterns that only the backtracking engine runs.
// Those can take exponential time for a text, and a partial index matches in the transaction of
// each write.
func checkFilter(s *selector.Selector) error {
	if c := s.Backtracks(); c != nil {
		return selector.ErrBadArg(c.Op.String(), c.Arg)
	}
	return nil
}

// generatedName is the name of an index without one: the SHA-1 of {Definition, Options} in Erlang's
// external term format (mango_idx:gen_name/2). Options are sorted by name, which they are here.
func generatedName(body, given ejson.Value, kind string, w number) string {
	option := func(dst []byte, name, absent string) []byte {
		dst = ejson.AppendTermAtom(ejson.AppendTermTuple(dst, 2), name)
		if v, ok := body.Get(name); ok {
			return v.AppendTerm(dst)
		}
		return ejson.AppendTermAtom(dst, absent)
	}
	// 131 is the version that begins each term of the external format. What follows has to be byte
	// for byte what term_to_binary/1 gives, with the six options in the order of their names.
	b := ejson.AppendTermTuple([]byte{131}, 2)
	b = ejson.AppendTermList(given.AppendTerm(b), 6)
	b = option(b, "ddoc", "auto_name")
	b = given.AppendTerm(ejson.AppendTermAtom(ejson.AppendTermTuple(b, 2), "def"))
	b = option(b, "name", "auto_name")
	b = option(b, "partitioned", "db_default")
	b = ejson.AppendTermBinary(ejson.AppendTermAtom(ejson.AppendTermTuple(b, 2), "type"), kind)
	b = ejson.AppendTermAtom(ejson.AppendTermTuple(b, 2), "w")
	if v, ok := body.Get("w"); ok {
		b = v.AppendTerm(b)
	} else {
		b = ejson.AppendTermInt(b, w.n)
	}
	sum := sha1.Sum(ejson.AppendTermNil(b))
	return hex.EncodeToString(sum[:])
}

// AddTo returns the body of the design document with the index, nil if nothing changes. exists
// tells that there is such a document, which is not deleted; body is its body (mango_idx:add/2).
func (d *Definition) AddTo(body ejson.Value, exists bool) ([]byte, error) {
	if !exists {
		body, _ = ejson.Parse([]byte(`{"language":"query"}`))
	} else if err := CheckLanguage(body); err != nil {
		return nil, err
	}
	member, definition := d.kind.member(), d.given
	switch d.kind {
	case KindJSON:
		definition = d.appendView(nil)
	case KindText, KindNouveau:
		definition = d.text.appendJSON([]byte(`{"index":`))
		// Both halves of {"index": …, "analyzer": …} are printed anew: CouchDB stores what it has
		// understood of a text index, not what was sent.
		definition = append(d.text.appendAnalyzer(append(definition, `,"analyzer":`...)), '}')
	}
	views, _ := body.Get(member)
	stored, _ := views.Get(d.Name)
	if version, ok := stored.Get("lucene_version"); ok && d.kind == KindNouveau {
		// It came with the design document. CouchDB drops it here, and answers that an index was
		// made.
		definition = append(definition[:len(definition)-1], `,"lucene_version":`...)
		definition = append(version.AppendJSON(definition), '}')
	}
	changed, err := ejson.Parse(definition)
	if err != nil {
		return nil, err
	}
	list := appendWith(nil, views, d.Name, changed.AppendJSON(nil))
	next := appendWith(nil, body, member, list)
	// A design document has one option for all of its indexes, which only the first one can set.
	switch old := partitionedOption(body); {
	case old == d.partitionedJSON():
	case exists:
		return nil, compat.Named(compat.KindBadRequest, "invalid_partitioned_option",
			"Requested partitioned option does not match existing value on design document "+d.DDoc)
	default:
		// The object's closing brace is cut off and put back after the new member.
		next = append(next[:len(next)-1], `,"options":{"partitioned":`...)
		next = append(append(next, d.partitionedJSON()...), "}}"...)
	}
	switch {
	case d.access && !exists:
		next = append(append(append(next[:len(next)-1], `,"_access":`...), forUsers...), '}')
	case d.access && !isForUsers(body):
		return nil, errAccess("Design document " + d.DDoc + ` is not for users: its _access must be ["_users"].`)
	}
	// The same definition once more changes nothing: the answer is "exists", and no revision is
	// made.
	if exists && slices.Equal(next, body.AppendJSON(nil)) {
		return nil, nil
	}
	return next, nil
}

// partitionedJSON is the option as asked for, "" if it was not.
func (d *Definition) partitionedJSON() string {
	switch {
	case d.partitioned == nil:
		return ""
	case *d.partitioned:
		return "true"
	}
	return "false"
}

// partitionedOption is the member partitioned of a design document's options, as JSON; "" where
// there is none.
func partitionedOption(body ejson.Value) string {
	options, _ := body.Get("options")
	if options.Kind() != ejson.Object {
		return ""
	}
	v, ok := options.Get("partitioned")
	if !ok {
		return ""
	}
	return string(v.AppendJSON(nil))
}

// CheckLanguage refuses design documents of another language, or of none (mango_util:check_lang/1).
func CheckLanguage(body ejson.Value) error {
	language, ok := body.Get("language")
	if ok && language.Kind() == ejson.String && language.TextIs(Language) {
		return nil
	}
	// Erlang prints the tuple that proplists:lookup found, or the atom false.
	found := "false"
	if ok {
		found = "{" + string(compat.AppendRawBinary(nil, "language")) + "," + term(language) + "}"
	}
	return compat.Named(compat.KindBadRequest, "invalid_ddoc_lang",
		"Existing design doc has an invalid language: "+found)
}

// member is where design documents have indexes of a kind.
func (k Kind) member() string {
	switch k {
	case KindText:
		return "indexes"
	case KindNouveau:
		return "nouveau"
	case KindAllFields:
		return allfields.Member
	}
	return "views"
}

// appendView appends the view that is the index. A CouchDB that gets it by replication passes over
// the values: it looks at the members of map by name, and counts with the reduce function.
func (d *Definition) appendView(dst []byte) []byte {
	dst = d.fields.appendJSON(append(dst, `{"map":{"fields":`...))
	dst = d.filter.AppendJSON(append(dst, `,"partial_filter_selector":`...))
	if d.values != nil {
		dst = ejson.AppendStrings(append(dst, `,"values":`...), d.values)
	}
	if d.access {
		dst = append(dst, `,"access":true`...)
	}
	dst = append(append(dst, `},"reduce":"_count","options":{"def":`...), d.given...)
	return append(dst, "}}"...)
}

// RemoveFrom returns the body of the design document without the index. empty tells that nothing is
// left but the language, so that the document can go (mango_idx:delete/4). exists is as for AddTo.
func RemoveFrom(body ejson.Value, exists bool, kind Kind, name string) (next []byte, empty bool, err error) {
	// The text names JSON for indexes over all fields too: they have no type of their own in
	// CouchDB.
	missing := compat.Named(compat.KindNotFound, "invalid_index", "JSON index "+name+" not found in this design doc.")
	if kind.IsText() {
		missing = compat.Named(compat.KindNotFound, "index_not_found",
			"Text index "+name+" not found in this design doc.")
	}
	if !exists {
		return nil, false, missing
	}
	if err := CheckLanguage(body); err != nil {
		return nil, false, err
	}
	member := kind.member()
	views, _ := body.Get(member)
	if _, ok := views.Get(name); views.Kind() != ejson.Object || !ok {
		return nil, false, missing
	}
	// The member goes with its last index, so that the comparison below sees an empty design
	// document.
	if views.Len() == 1 {
		next = appendWith(nil, body, member, nil)
	} else {
		next = appendWith(nil, body, member, appendWith(nil, views, name, nil))
	}
	left := string(next)
	return next, left == `{"language":"query"}` || left == `{"language":"query","_access":`+forUsers+"}", nil
}

// appendWith appends an object with a member set, in its old place or at the end, or without the
// member if value is nil. What is no object counts as an empty one.
func appendWith(dst []byte, object ejson.Value, name string, value []byte) []byte {
	dst = append(dst, '{')
	separator, found := "", false
	for key, old := range object.Members() {
		set := key.TextIs(name)
		if found = found || set; set && value == nil {
			continue
		}
		dst = append(key.AppendJSON(append(dst, separator...)), ':')
		if separator = ","; set {
			dst = append(dst, value...)
		} else {
			dst = old.AppendJSON(dst)
		}
	}
	if !found && value != nil {
		dst = append(ejson.AppendString(append(dst, separator...), name), ':')
		dst = append(dst, value...)
	}
	return append(dst, '}')
}

// ParseBulkDelete reads the body of POST /db/_index/_bulk_delete, an object: the ids in order, with
// prefix. An id that CouchDB takes but fails on is "" (mango_opts:validate_bulk_delete/1).
func ParseBulkDelete(body ejson.Value) (ids []string, err error) {
	m := newMembers(body)
	if v, ok := m.require("docids"); ok {
		if v.Kind() != ejson.Array {
			m.err = compat.Named(compat.KindBadRequest, "invalid_bulk_docs",
				"Bulk Delete requires an array of non-null docids. Docids: "+term(v))
		}
		for e := range v.Elements() {
			// The answer names the first id that is wrong.
			if m.err != nil {
				break
			}
			// An id is checked as a value of use_index is, but null passes, although the message
			// above says "non-null".
			if _, m.err = parseUseIndex(e); e.IsNull() {
				m.err = nil
			}
			id := ""
			if e.Kind() == ejson.String {
				id = DesignID(e.Text())
			}
			ids = append(ids, id)
		}
	}
	m.integer("w", true, new(number))
	return ids, m.finish()
}
