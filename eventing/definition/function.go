package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
)

// version is what clients see as the version that a function was made with, where it says none.
const version = "evt-7.6.0-0000-ee"

// DefaultCodeSize is how many bytes of code a function may have, unless the configuration says
// otherwise.
const DefaultCodeSize = 128 << 10

// Function is an event function as clients define it. Its JSON form is complete, secrets included:
// what clients get is that of Shown.
type Function struct {
	Name          string   `json:"appname"`
	Code          string   `json:"appcode"`
	Version       string   `json:"version"`
	EnforceSchema bool     `json:"enforce_schema"`
	UUID          uint32   `json:"handleruuid"`
	InstanceID    string   `json:"function_instance_id"`
	Scope         Scope    `json:"function_scope"`
	Bindings      Bindings `json:"depcfg"`
	Settings      Settings `json:"settings"`

	unknown []string // members that were sent and that there are not, for Warnings; they are not stored
}

// sent is a function as clients send it.
type sent struct {
	Name          string          `json:"appname"`
	Code          string          `json:"appcode"`
	Version       string          `json:"version"`
	EnforceSchema bool            `json:"enforce_schema"`
	UUID          json.RawMessage `json:"handleruuid"`
	ID            json.RawMessage `json:"id"`
	InstanceID    json.RawMessage `json:"function_instance_id"`
	Scope         Scope           `json:"function_scope"`
	Bindings      Bindings        `json:"depcfg"`
	Settings      json.RawMessage `json:"settings"`
}

// ParseOptions say what is known of a function beside its text.
type ParseOptions struct {
	// Name and Scope are those of the request's path and query; zero ones leave it to the text.
	Name  string
	Scope Scope
	// Import is for functions of another server: they speak the oldest language unless they say
	// another one.
	Import bool
	// MaxCode is how many bytes the code may have; 0: DefaultCodeSize.
	MaxCode int64
}

// Parse reads a function as clients send it, and refuses one that could not run anywhere. Its
// numbers, UUID and InstanceID, are the server's to give.
func Parse(text []byte, o ParseOptions) (*Function, error) {
	var in sent
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, Errorf(CodeInvalidRequest, "the function cannot be read: %v", err)
	}
	if in.EnforceSchema {
		strict := json.NewDecoder(bytes.NewReader(text))
		strict.DisallowUnknownFields()
		if err := strict.Decode(new(sent)); err != nil {
			return nil, Errorf(CodeInvalidConfig, "the function is not as the schema says: %v", err)
		}
	}
	if o.Name != "" && in.Name != o.Name {
		return nil, Errorf(CodeNameMismatch, "the name in the path is %q, that in the body is %q", o.Name, in.Name)
	}
	scope := o.Scope
	if scope == (Scope{}) {
		scope = in.Scope
	}
	f := &Function{
		Name: in.Name, Code: in.Code, Version: cmp.Or(in.Version, version), EnforceSchema: in.EnforceSchema,
		Bindings: in.Bindings, Settings: DefaultSettings(),
	}
	if o.Import {
		f.Settings.Compatibility = OldestLanguage
	}
	if in.Settings != nil {
		if err := f.Settings.Merge(in.Settings, in.EnforceSchema); err != nil {
			return nil, err
		}
	}
	var err error
	if f.Scope, err = NewScope(scope.Bucket, scope.Scope); err != nil {
		return nil, err
	}
	f.Bindings.fill()
	f.unknown = unknownMembers(text, reflect.TypeFor[sent]())
	return f, f.Check(o.MaxCode)
}

// ParseList splits a list of functions; one function alone is a list, too.
func ParseList(text []byte) ([]json.RawMessage, error) {
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return []json.RawMessage{text}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, Errorf(CodeInvalidRequest, "a list of functions cannot be read: %v", err)
	}
	return list, nil
}

// Check refuses a function that could not run anywhere. It knows neither databases nor JavaScript.
// The code may have maxCode bytes, 0 for DefaultCodeSize.
func (f *Function) Check(maxCode int64) error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	if err := CheckCodeSize(f.Code, maxCode); err != nil {
		return err
	}
	if _, err := StateOf(f.Settings.Deployment, f.Settings.Processing); err != nil {
		return err
	}
	return f.Bindings.check()
}

// CheckCodeSize refuses code of more than most bytes, 0 for DefaultCodeSize.
func CheckCodeSize(code string, most int64) error {
	if most = cmp.Or(most, DefaultCodeSize); int64(len(code)) > most {
		return Errorf(CodeCodeSize, "the code has %d bytes, more than %d", len(code), most)
	}
	return nil
}

// SetBindings takes bindings as clients send them in the place of those that the function has. Members
// that bindings do not have are refused where the function enforces its schema, else Warnings names them.
// Nothing is changed where it fails.
func (f *Function) SetBindings(text []byte) error {
	var b Bindings
	decoder := json.NewDecoder(bytes.NewReader(text))
	if f.EnforceSchema {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(&b); err != nil {
		return Errorf(CodeUnmarshal, "depcfg cannot be read: %v", err)
	}
	b.fill()
	if err := b.check(); err != nil {
		return err
	}
	f.Bindings, f.unknown = b, unknownMembers(text, reflect.TypeFor[Bindings]())
	return nil
}

// Ref names the function.
func (f *Function) Ref() Ref { return Ref{Scope: f.Scope, Name: f.Name} }

// Clone is a function that can be changed without changing this one.
func (f *Function) Clone() *Function {
	g := *f
	g.Bindings, g.Settings = f.Bindings.clone(), f.Settings.clone()
	return &g
}

// Shown is the function as clients see it in a state: without secrets.
func (f *Function) Shown(s State) *Function {
	g := f.Masked()
	g.Settings.Deployment, g.Settings.Processing = s.Statuses()
	return g
}

// Writes are the databases that the function may write to by its bindings, and that for its dead
// letters, in order.
func (f *Function) Writes() []string {
	var names []string
	for _, b := range f.Bindings.Buckets {
		if b.Access == ReadWrite {
			names = append(names, b.BucketName)
		}
	}
	if f.Settings.DeadLetters != "" {
		names = append(names, f.Settings.DeadLetters)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Reads are the databases that the function may only read, in order.
func (f *Function) Reads() []string {
	var names []string
	writes := f.Writes()
	for _, b := range f.Bindings.Buckets {
		if b.Access == ReadOnly && !slices.Contains(writes, b.BucketName) {
			names = append(names, b.BucketName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Databases are all that the function names: its source, what it writes and what it reads.
func (f *Function) Databases() []string {
	names := slices.Concat([]string{f.Bindings.SourceBucket}, f.Writes(), f.Reads())
	slices.Sort(names)
	return slices.Compact(names)
}

// WritesSource reports whether the function may write to its source.
func (f *Function) WritesSource() bool { return slices.Contains(f.Writes(), f.Bindings.SourceBucket) }

// JSON prints a value as Couchbase does, indented by one space, but leaves <, > and & as they are.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
