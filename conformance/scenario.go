package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// File is one transcript file: the scenarios of one area of the HTTP interface.
type File struct {
	Area      string
	Scenarios []*Scenario
}

// Scenario is a list of requests to one server, in order, that starts from fresh database names.
type Scenario struct {
	Name  string
	About string
	Steps []*Step
}

// Step is one request and what CouchDB answered to it. In its strings $db, $db2 and $db3 are fresh
// database names, $host is the server's host:port, and $name is a value saved by an earlier step.
type Step struct {
	Do         string        // "METHOD /path?query"; empty in a step that only joins
	Body       Body          // the request's body
	Headers    []Header      // added to, or taking the place of, Accept: application/json and the ones the body implies
	Anonymous  bool          // send no credentials
	User       []string      // name and password; nil: the admin
	Save       []Save        // values to take from the answer
	Background string        // send without waiting, under this label
	Join       string        // wait for the answer of the request with this label and judge it here
	Sleep      time.Duration // wait before the step
	Until      string        // repeat the request until the body matches, 10 s at most
	Mask       []string      // parts of the body that may differ
	Ignore     bool          // judge nothing: set-up and clean-up
	Unordered  bool          // arrays under rows, results and docs may come in another order
	Expect     *Answer       // what was recorded, normalised

	source members // the step as the file has it
}

// BodyKind tells how a request's body is written in a step.
type BodyKind int

// The kinds of request bodies.
const (
	NoBody   BodyKind = iota
	JSONBody          // JSON text; sets Content-Type: application/json unless the step gives one
	TextBody          // text as it is
	RawBody           // bytes as they are; nothing in them is replaced
)

// Body is the body of a request.
type Body struct {
	Kind BodyKind
	Data []byte
}

// Header is one header line of a request. A nil Value takes a default header away.
type Header struct {
	Name  string
	Value *string
}

// Save names a part of an answer: "body.a.0.b", "header.ETag", either with "~REGEX" after it, or
// "body~REGEX".
type Save struct {
	Name string
	Spec string
}

// Answer is a response: as it came, or normalised (see normalize.go). Only the headers in
// comparedHeaders are kept, with their names in lower case.
type Answer struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// Load reads a transcript file.
func Load(path string) (*File, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return f, nil
}

// Parse reads the text of a transcript file.
func Parse(src []byte) (*File, error) {
	f := &File{}
	if err := json.Unmarshal(src, f); err != nil {
		return nil, err
	}
	return f, nil
}

// Text returns the file as it is stored: indented by one blank, member order kept.
func (f *File) Text() ([]byte, error) {
	compact := append([]byte(`{"area":`), appendString(nil, f.Area)...)
	compact = append(compact, `,"scenarios":[`...)
	for i, sc := range f.Scenarios {
		if i > 0 {
			compact = append(compact, ',')
		}
		compact = sc.appendJSON(compact)
	}
	compact = append(compact, "]}"...)
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", " "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// appendJSON prints the scenario with its steps as they were read, so that recording changes
// answers only.
func (sc *Scenario) appendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"name":`...), sc.Name)
	dst = appendString(append(dst, `,"about":`...), sc.About)
	dst = append(dst, `,"steps":[`...)
	for i, st := range sc.Steps {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = st.source.appendJSON(dst)
	}
	return append(dst, "]}"...)
}

// Label names the step in reports: its request, or the label it joins.
func (st *Step) Label() string {
	if st.Join != "" {
		return "join " + st.Join
	}
	return st.Do
}

// Request returns the request that step number i answers: its own, or that of the step whose answer
// it waits for.
func (sc *Scenario) Request(i int) string {
	st := sc.Steps[i]
	for _, sent := range sc.Steps[:i] {
		if st.Join != "" && sent.Background == st.Join {
			return sent.Do
		}
	}
	return st.Do
}

// Judged reports whether the step has an answer to compare.
func (st *Step) Judged() bool { return !st.Ignore && st.Background == "" }

// SetExpect makes answer, which must be normalised, the recorded one.
func (st *Step) SetExpect(answer *Answer) {
	st.Expect = answer
	st.source = st.source.set("expect", answer.appendJSON(nil))
}

// UnmarshalJSON reads a step, member by member; an unknown member is an error, so that a typing
// error cannot pass unseen.
func (st *Step) UnmarshalJSON(src []byte) error {
	ms, err := parseMembers(src)
	if err != nil {
		return err
	}
	st.source = ms
	for _, m := range ms {
		if err := st.decode(m); err != nil {
			return fmt.Errorf("step member %q: %w", m.name, err)
		}
	}
	if st.Judged() && st.Expect == nil {
		st.Expect = &Answer{} // not recorded yet: agrees with nothing
	}
	return nil
}

// decode takes one member of a step. Members are decoded one by one because an unknown one must be
// an error: a misspelt "expect" would otherwise be a step that checks nothing.
func (st *Step) decode(m member) error {
	switch m.name {
	case "do":
		return json.Unmarshal(m.value, &st.Do)
	case "json":
		st.Body = Body{JSONBody, m.value}
		return nil
	case "text":
		var text string
		err := json.Unmarshal(m.value, &text)
		st.Body = Body{TextBody, []byte(text)}
		return err
	case "base64":
		var data []byte
		err := json.Unmarshal(m.value, &data)
		st.Body = Body{RawBody, data}
		return err
	case "headers":
		return st.decodeHeaders(m.value)
	case "auth":
		err := json.Unmarshal(m.value, &st.User)
		st.Anonymous = len(st.User) == 0
		return err
	case "save":
		return st.decodeSave(m.value)
	case "background":
		return json.Unmarshal(m.value, &st.Background)
	case "join":
		return json.Unmarshal(m.value, &st.Join)
	case "sleep":
		var seconds float64
		err := json.Unmarshal(m.value, &seconds)
		st.Sleep = time.Duration(seconds * float64(time.Second))
		return err
	case "until":
		return json.Unmarshal(m.value, &st.Until)
	case "mask":
		return json.Unmarshal(m.value, &st.Mask)
	case "ignore":
		return json.Unmarshal(m.value, &st.Ignore)
	case "unordered":
		return json.Unmarshal(m.value, &st.Unordered)
	case "expect":
		st.Expect = &Answer{}
		return json.Unmarshal(m.value, st.Expect)
	default:
		return fmt.Errorf("unknown member")
	}
}

// decodeHeaders and decodeSave keep the order of the members: headers are sent in it, values saved.
func (st *Step) decodeHeaders(src []byte) error {
	ms, err := parseMembers(src)
	for _, m := range ms {
		h := Header{Name: m.name}
		if err := json.Unmarshal(m.value, &h.Value); err != nil {
			return err
		}
		st.Headers = append(st.Headers, h)
	}
	return err
}

func (st *Step) decodeSave(src []byte) error {
	ms, err := parseMembers(src)
	for _, m := range ms {
		s := Save{Name: m.name}
		if err := json.Unmarshal(m.value, &s.Spec); err != nil {
			return err
		}
		st.Save = append(st.Save, s)
	}
	return err
}

// UnmarshalJSON reads a recorded answer. A body that is not UTF-8 is stored as base64.
func (a *Answer) UnmarshalJSON(src []byte) error {
	var stored struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
		Base64  []byte            `json:"base64"`
	}
	if err := json.Unmarshal(src, &stored); err != nil {
		return err
	}
	a.Status, a.Headers, a.Body = stored.Status, stored.Headers, []byte(stored.Body)
	if len(stored.Base64) > 0 {
		a.Body = stored.Base64
	}
	return nil
}

// appendJSON appends the answer as it is stored, headers in the order of their names.
func (a *Answer) appendJSON(dst []byte) []byte {
	dst = fmt.Appendf(dst, `{"status":%d,"headers":{`, a.Status)
	for i, name := range sortedKeys(a.Headers) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		dst = appendString(dst, a.Headers[name])
	}
	if a.isText() {
		return append(appendString(append(dst, `},"body":`...), string(a.Body)), '}')
	}
	return append(appendString(append(dst, `},"base64":`...), base64.StdEncoding.EncodeToString(a.Body)), '}')
}

// String shows the answer on one line, for reports.
func (a *Answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", a.Status)
	for _, name := range sortedKeys(a.Headers) {
		fmt.Fprintf(&b, " %s=%q", name, a.Headers[name])
	}
	fmt.Fprintf(&b, "\n       %q", a.Body)
	return b.String()
}

func (a *Answer) isText() bool { return utf8.Valid(a.Body) }
