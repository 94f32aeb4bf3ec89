package functions

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/server/call"
)

// export shows all functions as they would be on another server, undeployed: GET /export.
func (h *Handlers) export(c *call.Call) error {
	return h.exported(c, func(*definition.Function) bool { return true })
}

// exported answers with definitions as they can be imported: undeployed, without what belongs to a
// running instance.
func (h *Handlers) exported(c *call.Call, wanted func(*definition.Function) bool) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	list := make([]*definition.Function, 0, len(all))
	for _, r := range all {
		if wanted(r.Draft) {
			list = append(list, r.Draft.Shown(definition.Undeployed))
		}
	}
	return show(c, list)
}

// importAll stores functions of another server: POST /import.
func (h *Handlers) importAll(c *call.Call) error {
	return h.storeAll(c, func(f json.RawMessage) (definition.ParseOptions, json.RawMessage, error) {
		scope, err := givenScope(c)
		return definition.ParseOptions{Import: true, Scope: scope}, f, err
	})
}

// backup shows the functions of some databases: GET /backup.
func (h *Handlers) backup(c *call.Call) error {
	wanted, err := newSelection(c)
	if err != nil {
		return err
	}
	return h.exported(c, func(f *definition.Function) bool {
		return wanted.has(f.Scope.Bucket, f.Bindings.SourceBucket)
	})
}

// restore stores the functions of some databases, which may have other names here: POST /backup.
func (h *Handlers) restore(c *call.Call) error {
	wanted, err := newSelection(c)
	if err != nil {
		return err
	}
	renamed, err := newRemap(c)
	if err != nil {
		return err
	}
	return h.storeAll(c, func(text json.RawMessage) (definition.ParseOptions, json.RawMessage, error) {
		o := definition.ParseOptions{Import: true, MaxCode: maxBody} // how much there may be is looked at later
		f, err := definition.Parse(text, o)
		if err != nil {
			return o, text, err
		}
		if !wanted.has(f.Scope.Bucket, f.Bindings.SourceBucket) {
			return o, nil, nil
		}
		renamed.apply(f)
		text, err = json.Marshal(f)
		return o, text, err
	})
}

// selection is which databases' functions are meant.
type selection struct {
	names   []string
	exclude bool
}

// newSelection reads include or exclude: databases with commas between, each with scope and
// collection or without.
func newSelection(c *call.Call) (s selection, err error) {
	include, in := c.Query.First("include")
	exclude, out := c.Query.First("exclude")
	if in && out {
		return s, definition.Errorf(definition.CodeInvalidRequest, "include and exclude do not go together")
	}
	s.exclude = !in // without either: all but none
	for _, name := range strings.Split(include+exclude, ",") {
		if name == "" {
			continue
		}
		db, err := keyspaceDatabase(name)
		if err != nil {
			return s, err
		}
		s.names = append(s.names, db)
	}
	return s, nil
}

// has reports whether a function of a scope and with a source is meant.
func (s selection) has(scope, source string) bool {
	named := slices.Contains(s.names, scope) || slices.Contains(s.names, source)
	return named != s.exclude
}

// remap is which database has which other name.
type remap map[string]string

// newRemap reads remap: pairs with commas between, the old keyspace and the new one with a colon
// between.
func newRemap(c *call.Call) (remap, error) {
	m := remap{}
	pairs, _ := c.Query.First("remap")
	for _, pair := range strings.Split(pairs, ",") {
		if pair == "" {
			continue
		}
		from, to, ok := strings.Cut(pair, ":")
		if !ok {
			return nil, definition.Errorf(definition.CodeInvalidRequest, "remap: %q is no pair old:new", pair)
		}
		old, err := keyspaceDatabase(from)
		if err != nil {
			return nil, err
		}
		if m[old], err = keyspaceDatabase(to); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// keyspaceDatabase is the database of a keyspace: database, database.scope or
// database.scope.collection. Names of databases have no dots.
func keyspaceDatabase(text string) (string, error) {
	parts := strings.Split(text, ".")
	if len(parts) > 3 || parts[0] == "" {
		return "", definition.Errorf(definition.CodeInvalidRequest, "%q is no keyspace", text)
	}
	for _, part := range parts[1:] {
		if part != "_default" {
			return "", definition.Errorf(definition.CodeCollectionMissing, "%q: databases have the scope and the "+
				"collection _default only", text)
		}
	}
	return parts[0], nil
}

// apply gives the databases of a function their other names.
func (m remap) apply(f *definition.Function) {
	names := []*string{
		&f.Scope.Bucket, &f.Bindings.SourceBucket, &f.Bindings.MetadataBucket, &f.Settings.DeadLetters,
	}
	for i := range f.Bindings.Buckets {
		names = append(names, &f.Bindings.Buckets[i].BucketName)
	}
	for _, name := range names {
		if to, ok := m[*name]; ok {
			*name = to
		}
	}
}
