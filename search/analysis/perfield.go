package analysis

import "github.com/settee-db/settee/compat/ejson"

// Set is the analyzers of an index: one for each field that names its own, and one for all others.
type Set struct {
	Default *Analyzer
	Fields  map[string]*Analyzer
}

// For is the analyzer of a field.
func (s *Set) For(field string) *Analyzer {
	if a, ok := s.Fields[field]; ok {
		return a
	}
	return s.Default
}

// ClouseauSet are the analyzers of an index of _search, as its definition has them in the member
// analyzer: a name, an object with a name and stop words, or one with the name perfield, a default
// and fields. The zero Value stands for a definition without the member. ErrUnknown: there is no
// such analyzer; below perfield the default takes its place.
func ClouseauSet(definition ejson.Value) (*Set, error) {
	set := &Set{Fields: map[string]*Analyzer{}}
	name := nameOf(definition)
	if name != "perfield" {
		a, err := clouseau(definition)
		if err != nil {
			return nil, err
		}
		set.Default = a
	} else {
		set.perField(definition)
	}
	// What names documents and partitions is never cut into words.
	keyword, err := Lookup(Clouseau, "keyword")
	if err != nil {
		return nil, err
	}
	set.Fields["_id"], set.Fields["_partition"] = keyword, keyword
	return set, nil
}

// perField reads {"name":"perfield","default":…,"fields":{…}}. As in Clouseau nothing of it is
// refused: an unknown analyzer of a field is the default one, and an unknown default is standard.
func (s *Set) perField(definition ejson.Value) {
	s.Default, _ = Lookup(Clouseau, "standard")
	if v, ok := definition.Get("default"); ok {
		if a, err := clouseau(v); err == nil {
			s.Default = a
		}
	}
	fields, _ := definition.Get("fields")
	if fields.Kind() != ejson.Object {
		return
	}
	for field, v := range fields.Members() {
		a, err := clouseau(v)
		if err != nil {
			a = s.Default
		}
		s.Fields[field.Text()] = a
	}
}

// nameOf is the name in a definition of an analyzer.
func nameOf(definition ejson.Value) string {
	switch definition.Kind() {
	case ejson.Invalid:
		return "standard"
	case ejson.String:
		return definition.Text()
	case ejson.Object:
		if v, ok := definition.Get("name"); ok && v.Kind() == ejson.String {
			return v.Text()
		}
	}
	return ""
}

// clouseau reads an analyzer of Clouseau: a name, or an object with a name and stop words of its
// own, of which only texts count.
func clouseau(definition ejson.Value) (*Analyzer, error) {
	if definition.Kind() == ejson.Object {
		if list, ok := definition.Get("stopwords"); ok && list.Kind() == ejson.Array {
			words := []string{}
			for v := range list.Elements() {
				if v.Kind() == ejson.String {
					words = append(words, v.Text())
				}
			}
			return LookupWith(Clouseau, nameOf(definition), words)
		}
	}
	return Lookup(Clouseau, nameOf(definition))
}

// NouveauSet are the analyzers of an index of _nouveau: the name of the default one and an object
// of names by field, which may be the zero Value. With ErrUnknown comes the name that there is no
// analyzer for.
func NouveauSet(standard string, fields ejson.Value) (set *Set, unknown string, err error) {
	if standard == "" {
		standard = "standard"
	}
	set = &Set{Fields: map[string]*Analyzer{}}
	if set.Default, err = Lookup(Nouveau, standard); err != nil {
		return nil, standard, err
	}
	if fields.Kind() != ejson.Object {
		return set, "", nil
	}
	for field, name := range fields.Members() {
		a, err := Lookup(Nouveau, name.Text())
		if err != nil {
			return nil, name.Text(), err
		}
		set.Fields[field.Text()] = a
	}
	return set, "", nil
}
