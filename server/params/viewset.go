package params

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views/viewquery"
)

// setQuery and setBody read options one after the other; the last of a name counts.
func (o *ViewOptions) setQuery(q compat.Query) error {
	for i := range q {
		if err := o.set(q[i].Name, Value{Text: q[i].Value}); err != nil {
			return err
		}
	}
	return nil
}

func (o *ViewOptions) setBody(body ejson.Value) error {
	for name, value := range body.Members() {
		if err := o.set(name.Text(), Value{Text: value.Text(), JSON: value}); err != nil {
			return err
		}
	}
	return nil
}

// set reads one option (couch_mrview_http:parse_param). Unknown names are ignored.
func (o *ViewOptions) set(name string, v Value) (err error) {
	switch name {
	case "key", "keys", "startkey", "start_key", "endkey", "end_key":
		return o.setKey(name, v)
	case "startkey_docid", "start_key_doc_id":
		o.StartDocID = v.Plain()
	case "endkey_docid", "end_key_doc_id":
		o.EndDocID = v.Plain()
	case "limit":
		o.Limit, err = v.Natural()
	case "skip":
		o.Skip, err = v.Natural()
	case "group_level":
		o.groupLevel, err = v.Natural()
	case "stale", "stable", "update":
		return o.setUpdate(name, v)
	case "bookmark":
		o.Bookmark = v.Plain()
	case "principal":
		o.Principal = v.Plain()
	case "fields":
		o.fields = &v
	case "partition":
		o.Partition = *v.Plain()
		return compat.ValidatePartition(o.Partition)
	default:
		return o.setBoolean(name, v)
	}
	return err
}

// setKey takes a key or a list of keys, parsed already if it came in a body. A list with one key
// becomes a range, which is read without the extra work of a list and whose answer CouchDB gives,
// too.
func (o *ViewOptions) setKey(name string, v Value) error {
	key := v.JSON
	if key.Kind() == ejson.Invalid {
		var err error
		if key, err = ParseJSON(v.Text); err != nil {
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
func (o *ViewOptions) setUpdate(name string, v Value) error {
	switch word := v.Word(); {
	case name == "stale" && word == "ok":
		o.stable, o.Update = true, viewquery.UpdateNever
	case name == "stale" && word == "update_after":
		o.stable, o.Update = true, viewquery.UpdateLazy
	case name == "stable" && (word == "true" || word == "false"):
		o.stable = word == "true"
	case name == "update" && word == "true":
		o.Update = viewquery.UpdateFirst
	case name == "update" && word == "false":
		o.Update = viewquery.UpdateNever
	case name == "update" && word == "lazy":
		o.Update = viewquery.UpdateLazy
	default:
		return compat.NewError(compat.KindQueryParse, "Invalid value for `"+name+"`.")
	}
	return nil
}

// setBoolean takes a parameter that is true or false. reduce, group and conflicts have a third
// state, not given, because CouchDB refuses them for some views even where their value would change
// nothing.
func (o *ViewOptions) setBoolean(name string, v Value) error {
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
	b, err := v.Boolean()
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
