package patch

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// The limits of a patch.
const (
	MaxOperations = 1000
	// depth of its values, of its pointers, and of the values that operations nest by copying
	MaxDepth = 256
)

// Patch is a parsed merge patch or JSON Patch. Applying does not change it, and several goroutines
// may use it.
type Patch struct {
	// Rev is the revision that a merge patch asks for with its member _rev; HasRev tells that it
	// does.
	Rev    compat.Rev
	HasRev bool
	Size   int // bytes of its text: as much as it can add to a document without copying

	merge      ejson.Value // of a merge patch, the object
	special    special     // the special members of a merge patch
	operations []operation // of a JSON Patch
}

// Target is what a patch is applied to.
type Target struct {
	ID   string
	Rev  compat.Rev // zero for a document that is not there yet
	Body []byte     // an object without special members
	// Attached reports whether the document has an attachment of that name; nil: it has none.
	Attached func(name string) bool
	// Limit is the size of the body in bytes, printed, from which on it is refused; 0: none.
	Limit int64
}

// Result is a document after a patch.
type Result struct {
	Body    []byte // printed; equal to that of the Target if nothing has changed
	Deleted bool
	// Detached are the names of attachments that it has no more; all of them with DetachedAll.
	Detached    map[string]bool
	DetachedAll bool
}

// Detaches reports whether an attachment is removed.
func (r *Result) Detaches(name string) bool { return r.DetachedAll || r.Detached[name] }

// Parse reads a patch: an object is a merge patch, a list is one of operations. Errors are
// compat.Errors with status 400, and the depth of the patch is looked at first. It refers to v.
func Parse(v ejson.Value) (*Patch, error) {
	if tooDeep(v.Raw()) {
		return nil, compat.Errorf(compat.KindBadRequest, "a patch is nested at most %d levels deep", MaxDepth)
	}
	var p *Patch
	var err error
	switch v.Kind() {
	case ejson.Object:
		p, err = parseMerge(v)
	case ejson.Array:
		p, err = parseOperations(v)
	default:
		err = compat.NewError(compat.KindBadRequest, "a patch is an object or a list of operations")
	}
	if err != nil {
		return nil, err
	}
	p.Size = len(v.Raw())
	return p, nil
}

// IsList reports whether the patch is a list of operations.
func (p *Patch) IsList() bool { return p.merge.Kind() == ejson.Invalid }

// Apply makes the document after the patch. Its errors are compat.Errors: 409 for a test that fails,
// 400 patch_failed for an operation that cannot be done, 413 for a document that becomes too large.
func (p *Patch) Apply(t Target) (*Result, error) {
	body, err := canonical(t.Body)
	if err != nil {
		return nil, err
	}
	if p.IsList() {
		return p.applyOperations(&t, body)
	}
	result := &Result{Body: appendMerged(make([]byte, 0, len(t.Body)+len(p.merge.Raw())), body, p.merge, true)}
	p.special.applyTo(result)
	if t.Limit > 0 && int64(len(result.Body)) > t.Limit {
		return nil, compat.NewError(compat.KindDocumentTooLarge, t.ID)
	}
	return result, nil
}

// canonical reads a text and, if its bytes are not as AppendJSON prints them, prints it and reads
// that.
func canonical(text []byte) (ejson.Value, error) {
	v, err := ejson.Parse(text)
	if err != nil {
		return v, compat.ErrInvalidJSON
	}
	return canonicalValue(v)
}

// canonicalValue is a value whose text is canonical, as all that goes into a stored body has to be.
func canonicalValue(v ejson.Value) (ejson.Value, error) {
	if v.Canonical() {
		return v, nil
	}
	again, err := ejson.Parse(v.AppendJSON(nil))
	if err != nil {
		return v, compat.ErrInvalidJSON
	}
	return again, nil
}

// tooDeep reports whether a JSON text is nested more than MaxDepth levels deep.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}
