package fields

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// kinds is a set of JSON kinds with its name in errors.
type kinds struct {
	name string
	is   []ejson.Kind
}

var (
	isObject         = kinds{"object", []ejson.Kind{ejson.Object}}
	isString         = kinds{"string", []ejson.Kind{ejson.String}}
	isBoolean        = kinds{"boolean", []ejson.Kind{ejson.Bool}}
	isStringOrObject = kinds{"string or object", []ejson.Kind{ejson.String, ejson.Object}}
	isObjectOrString = kinds{"object or string", isStringOrObject.is}
	isArrayOrString  = kinds{"array or string", []ejson.Kind{ejson.String, ejson.Array}}
)

// step is a member on a path through a design document; an empty name stands for each member in
// turn.
type step struct {
	name string
	want kinds
}

// CheckRule checks the type of validate_doc_update alone: an object where the language has
// selectors for it, else a string. The error is a *compat.Error, invalid_design_doc.
func CheckRule(ddoc ejson.Value, selectors bool) error {
	want := isString
	if selectors {
		want = isObject
	}
	return checkPath(ddoc, []step{{"validate_doc_update", want}}, "")
}

// Check is couch_mrview:validate_ddoc_fields: the types of all members that mean something. query
// tells that the language is Mango's, whose map functions are objects. The error is a *compat.Error,
// invalid_design_doc.
func Check(ddoc ejson.Value, query bool) error {
	mapType := isString
	if query {
		mapType = isObject
	}
	for _, path := range [...][]step{
		{{"filters", isObject}, {"", isStringOrObject}},
		{{"language", isString}},
		{{"lists", isObject}, {"", isStringOrObject}},
		{{"options", isObject}},
		{{"options", isObject}, {"include_design", isBoolean}},
		{{"options", isObject}, {"local_seq", isBoolean}},
		{{"options", isObject}, {"partitioned", isBoolean}},
		{{"rewrites", isArrayOrString}},
		{{"shows", isObject}, {"", isStringOrObject}},
		{{"updates", isObject}, {"", isStringOrObject}},
		{{"validate_doc_update", isObjectOrString}},
		{{"views", isObject}, {"lib", isObject}},
		{{"views", isObject}, {"", isObject}, {"map", mapType}},
		{{"views", isObject}, {"", isObject}, {"reduce", isString}},
	} {
		if err := checkPath(ddoc, path, ""); err != nil {
			return err
		}
	}
	views, _ := ddoc.Get("views")
	for name, view := range views.Members() {
		if name.TextIs("lib") {
			continue
		}
		if _, ok := view.Get("map"); !ok {
			return compat.NewError(compat.KindInvalidDesignDoc, "View `"+name.Text()+"` must contain map function")
		}
		// CouchDB crashes
		if err := checkPath(view, []step{{"options", isObject}}, "views."+name.Text()+"."); err != nil {
			return err
		}
	}
	return nil
}

// checkPath checks the types of members along a path, as far as they are there.
func checkPath(v ejson.Value, path []step, at string) error {
	if len(path) == 0 {
		return nil
	}
	for name, member := range v.Members() {
		if path[0].name != "" && !name.TextIs(path[0].name) {
			continue
		}
		here := at + name.Text()
		if !slices.Contains(path[0].want.is, member.Kind()) {
			return compat.NewError(compat.KindInvalidDesignDoc, "`"+here+"` field must have "+path[0].want.name+" type")
		}
		if err := checkPath(member, path[1:], here+"."); err != nil {
			return err
		}
	}
	return nil
}
