package params

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views"
)

func (o *ViewOptions) setQuery(q compat.Query) error {
	for i := range q {
		if err := o.set(q[i].Name, optionValue{text: q[i].Value}); err != nil {
			return err
		}
	}
	return nil
}

func (o *ViewOptions) setBody(body ejson.Value) error {
	for name, value := range body.Members() {
		if err := o.set(name.Text(), optionValue{text: value.Text(), json: value}); err != nil {
			return err
		}
	}
	return nil
}

// set reads one option (couch_mrview_http:parse_param). Unknown names are ignored.
func (o *ViewOptions) set(name string, v optionValue) (err error) {
	switch name {
	case "key", "keys", "startkey", "start_key", "endkey", "end_key":
		return o.setKey(name, v)
	case "startkey_docid", "start_key_doc_id":
		o.StartDocID = v.plain()
	case "endkey_docid", "end_key_doc_id":
		o.EndDocID = v.plain()
	case "limit":
		o.Limit, err = v.natural()
	case "skip":
		o.Skip, err = v.natural()
	case "group_level":
		o.groupLevel, err = v.natural()
	case "stale", "stable", "update":
		return o.setUpdate(name, v)
	case "bookmark":
		o.Bookmark = v.plain()
	case "partition":
		o.Partition = *v.plain()
		return compat.ValidatePartition(o.Partition)
	default:
		return o.setBoolean(name, v)
	}
	return err
}

// setKey takes a key or a list of keys, parsed already if it came in a body. A list with one key
// becomes a range, which is read without the extra work of a list and whose answer CouchDB gives,
// too.
func (o *ViewOptions) setKey(name string, v optionValue) error {
	key := v.json
	if key.Kind() == ejson.Invalid {
		var err error
		if key, err = parseJSON(v.text); err != nil {
			return err
		}
	}
	switch name {
	case "startkey", "start_key":
		o.StartKey = key
	case "endkey", "end_key":
		o.EndKey = key
	case "key":
		o.StartKey, o.EndKey = key, key
	case "keys":
		if key.Kind() != ejson.Array || key.Len() != 1 {
			o.Keys = key
			break
		}
		for element := range key.Elements() {
			o.StartKey, o.EndKey = element, element
		}
	}
	return nil
}

// setUpdate takes whether a query waits for its index. "stale" is the older name, which CouchDB
// still reads as stable and update together; the last of these parameters wins.
func (o *ViewOptions) setUpdate(name string, v optionValue) error {
	switch word := v.word(); {
	case name == "stale" && word == "ok":
		o.stable, o.Update = true, views.UpdateNever
	case name == "stale" && word == "update_after":
		o.stable, o.Update = true, views.UpdateLazy
	case name == "stable" && (word == "true" || word == "false"):
		o.stable = word == "true"
	case name == "update" && word == "true":
		o.Update = views.UpdateFirst
	case name == "update" && word == "false":
		o.Update = views.UpdateNever
	case name == "update" && word == "lazy":
		o.Update = views.UpdateLazy
	default:
		return compat.NewError(compat.KindQueryParse, "Invalid value for `"+name+"`.")
	}
	return nil
}

// setBoolean takes a parameter that is true or false. reduce, group and conflicts have a third
// state, not given, because CouchDB refuses them for some views even where their value would change
// nothing.
func (o *ViewOptions) setBoolean(name string, v optionValue) error {
	switch name {
	case "reduce",
		"group",
		"conflicts",
		"descending",
		"inclusive_end",
		"include_docs",
		"attachments",
		"att_encoding_info",
		"update_seq",
		"sorted":
	default:
		return nil
	}
	b, err := v.boolean()
	if err != nil {
		return err
	}
	switch name {
	case "reduce":
		o.reduce, o.Reduce = optBoolOf(b), b
	case "group":
		o.group = optBoolOf(b)
	case "conflicts":
		o.conflicts, o.Conflicts = optBoolOf(b), b
	case "descending":
		o.Descending = b
	case "inclusive_end":
		o.ExclusiveEnd = !b
	case "include_docs":
		o.IncludeDocs = b
	case "attachments": // false does not undo an earlier true
		o.Attachments = o.Attachments || b
	case "att_encoding_info":
		o.AttEncodingInfo = o.AttEncodingInfo || b
	case "update_seq":
		o.UpdateSeq = b
	case "sorted":
		o.Unsorted = !b
	}
	return nil
}

// optionValue is the value of an option: the text of a query, or JSON of a body.
type optionValue struct {
	text string      // of the query, or of a JSON string
	json ejson.Value // of kind Invalid for a query
}

// isText reports whether v is text rather than another kind of JSON.
func (v optionValue) isText() bool {
	return v.json.Kind() == ejson.Invalid || v.json.Kind() == ejson.String
}

// word is the text, or true or false for a JSON boolean, or "" for other JSON.
func (v optionValue) word() string {
	if v.json.Kind() == ejson.Bool {
		return string(v.json.Raw())
	}
	return v.text
}

// plain is the value as couch_util:to_binary makes it.
func (v optionValue) plain() *string {
	text := v.text
	if !v.isText() {
		text = compat.ErlangTerm(v.json)
	}
	return &text
}

func (v optionValue) boolean() (bool, error) {
	if b, ok := v.json.Bool(); ok {
		return b, nil
	}
	if !v.isText() {
		return false, compat.NewError(compat.KindQueryParse, "Invalid boolean parameter: "+compat.ErlangTerm(v.json))
	}
	switch strings.ToLower(v.text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, compat.NewError(compat.KindQueryParse, "Invalid boolean parameter: "+compat.ErlangString(v.text))
}

// natural is a number from 0 on; text of a body is not taken for one.
func (v optionValue) natural() (int64, error) {
	text, shown := "", ""
	switch v.json.Kind() {
	case ejson.Invalid:
		text, shown = v.text, compat.ErlangString(v.text)
	case ejson.Int:
		text = string(v.json.Raw())
		shown = text
	default:
		shown = compat.ErlangTerm(v.json)
	}
	n, ok := compat.ErlangInteger(text)
	switch {
	case !ok:
		return 0, compat.NewError(compat.KindQueryParse, "Invalid value for integer: "+shown)
	case n < 0:
		return 0, compat.NewError(compat.KindQueryParse, "Invalid value for positive integer: "+shown)
	}
	return n, nil
}
