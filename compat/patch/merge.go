package patch

import "github.com/settee-db/settee/compat/ejson"

// parseMerge reads a merge patch (RFC 7396). Members with an underscore are checked now: most of
// them cannot be patched.
func parseMerge(v ejson.Value) (*Patch, error) {
	p := new(Patch)
	for key, value := range v.Members() {
		if name := key.Text(); isSpecial(name) {
			if err := p.parseSpecial(name, value); err != nil {
				return nil, err
			}
		}
	}
	var err error
	p.merge, err = canonicalValue(v)
	return p, err
}

// appendMerged appends what a merge patch makes of a value (RFC 7396): an object with the members of
// both. A member that is replaced keeps its place, new ones come behind in the order of the patch,
// and null removes. What is no object counts as an empty one. top leaves the special members of the
// patch out.
func appendMerged(dst []byte, old, patch ejson.Value, top bool) []byte {
	names := indexNames(patch)
	used := make([]bool, patch.Len())
	dst = append(dst, '{')
	begin := len(dst)
	add := func(key, old, value ejson.Value) {
		if value.IsNull() {
			return
		}
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(append(dst, key.Raw()...), ':')
		if value.Kind() == ejson.Object {
			dst = appendMerged(dst, old, value, false)
		} else {
			dst = append(dst, value.Raw()...)
		}
	}
	for key, value := range old.Members() {
		if n := names.find(key.Raw()); n >= 0 {
			used[n] = true
			add(key, value, names.value(n))
			continue
		}
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, key.Raw()...), ':'), value.Raw()...)
	}
	n := 0
	for key, value := range patch.Members() {
		if !used[n] && !(top && isSpecial(key.Text())) {
			add(key, ejson.Value{}, value)
		}
		n++
	}
	return append(dst, '}')
}
