package mango

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage/storagetest"
)

// recordedStep is one request of a scenario; here only what selectors and fields have to do with is
// looked at.
type recordedStep struct {
	request string // method and path
	json    ejson.Value
	status  int64
	body    string // "" where it was not recorded
}

func recordedSteps(t *testing.T, name string, each func(t *testing.T, scenario string, steps []recordedStep)) {
	t.Helper()
	for _, s := range storagetest.Recordings(t, name) {
		var steps []recordedStep
		for _, step := range s.Steps {
			recorded := recordedStep{request: step.Do, status: int64(step.Expect.Status), body: step.Expect.Body}
			if step.JSON != nil {
				recorded.json = parsed(t, string(step.JSON))
			}
			steps = append(steps, recorded)
		}
		each(t, s.Name, steps)
	}
}

// collection is the documents of a scenario by id.
type collection map[string]ejson.Value

func (c collection) put(t *testing.T, id string, body ejson.Value) {
	var b bytes.Buffer
	b.WriteString(`{"_id":`)
	b.Write(ejson.AppendString(nil, id))
	if _, exists := c[id]; exists {
		b.WriteString(`,"_rev":"2-x"`)
	} else {
		b.WriteString(`,"_rev":"1-x"`)
	}
	for name, value := range body.Members() {
		if !strings.HasPrefix(name.Text(), "_") {
			b.WriteByte(',')
			b.Write(name.AppendJSON(nil))
			b.WriteByte(':')
			b.Write(value.AppendJSON(nil))
		}
	}
	b.WriteByte('}')
	c[id] = parsed(t, b.String())
}

// write follows the steps that change the documents; others are none of its business.
func (c collection) write(t *testing.T, step recordedStep) {
	path := strings.TrimPrefix(step.request, "POST /$db/")
	if path == "_bulk_docs" {
		docs, _ := step.json.Get("docs")
		for doc := range docs.Elements() {
			id, _ := doc.Get("_id")
			c.put(t, id.Text(), doc)
		}
	}
	if id, ok := strings.CutPrefix(step.request, "PUT /$db/"); ok && step.json.Kind() == ejson.Object {
		id, _, _ = strings.Cut(id, "?")
		c.put(t, id, step.json)
	}
}

// find is a _find over all documents in the order of ids, with the lines of its answer.
func (c collection) find(request ejson.Value) (lines []string, err error) {
	sel, _ := request.Get("selector")
	chosen, err := selector.ParseSelector35(sel)
	if err != nil {
		return nil, err
	}
	list, _ := request.Get("fields")
	fields, err := selector.ParseFields(list)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(c)) {
		if strings.HasPrefix(id, "_design/") {
			continue
		}
		ok, err := chosen.Match(c[id])
		if err != nil {
			return nil, err
		}
		if ok {
			line := c[id].AppendJSON(nil)
			if !fields.All() {
				if line, err = fields.AppendJSON(nil, line); err != nil {
					return nil, err
				}
			}
			lines = append(lines, string(line))
		}
	}
	return lines, nil
}

func answeredDocs(body string) []string {
	var docs []string
	for line := range strings.SplitSeq(body, "\r\n") {
		if line = strings.TrimSuffix(line, ","); strings.HasPrefix(line, "{") && !strings.HasPrefix(line, `{"docs"`) {
			docs = append(docs, line)
		}
	}
	return docs
}

// refusedPatterns are recorded patterns that PCRE can do and RE2 cannot.
var refusedPatterns = []string{
	`^(abc)\1$`,
	`a(?=b)`,
	`a(?!b)`,
	`(?<=foo)-`,
	`(?<!foo )bar`,
	`^(?>a+)bc`,
	`(?<n>a)bc\k<n>`,
	`^a++b`,
}

// otherFindings are requests whose answers depend on more than the selector: on indexes, on ranges
// that are provably empty, on revisions, on CouchDB's range for a $beginsWith on _id, which misses
// some, and on patterns that are refused.
func otherFindings(step recordedStep) bool {
	text := step.json.AppendJSON(nil)
	if bytes.Contains(text, []byte(`"_id":{"$beginsWith":`)) ||
		bytes.Contains(text, []byte(`"$r`)) && !bytes.Contains(text, []byte(`"$regex"`)) {
		return true
	}
	for _, pattern := range refusedPatterns {
		if bytes.Contains(text, append([]byte(`"$regex":`), ejson.AppendString(nil, pattern)...)) {
			return true
		}
	}
	for _, member := range [...]string{"sort", "use_index", "skip", "bookmark", "r"} {
		if _, ok := step.json.Get(member); ok {
			return true
		}
	}
	fields, _ := step.json.Get("fields")
	return fields.Kind() != ejson.Array || step.body == "{\"docs\":[\r\n]}\r\n\n"
}

func TestRecordedOperators(t *testing.T) {
	checked := 0
	recordedSteps(t, "mango-operators", func(t *testing.T, scenario string, steps []recordedStep) {
		docs := make(collection)
		for _, step := range steps {
			docs.write(t, step)
			if !strings.HasPrefix(step.request, "POST /$db/_find") || step.body == "" || otherFindings(step) {
				continue
			}
			checked++
			got, err := docs.find(step.json)
			checkFind(t, scenario, step, got, err)
		}
	})
	if checked < 350 {
		t.Errorf("%d requests checked", checked)
	}
}

func checkFind(t *testing.T, scenario string, step recordedStep, got []string, err error) {
	t.Helper()
	if step.status != 200 {
		e, ok := compat.AsError(err)
		if !ok {
			t.Errorf("%s: %s: no error, want %s", scenario, step.json.Raw(), step.body)
			return
		}
		body := parsed(t, step.body)
		word, _ := body.Get("error")
		reason, _ := body.Get("reason")
		if int64(e.Status()) != step.status || e.Word() != word.Text() || e.Reason != reason.Text() {
			t.Errorf("%s: %s: %d %v, want %d %s", scenario, step.json.Raw(), e.Status(), e, step.status, step.body)
		}
		return
	}
	slices.Sort(got) // an index has an order of its own
	want := answeredDocs(step.body)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %s: %v %v, want %v", scenario, step.json.Raw(), got, err, want)
	}
}

// TestRecordedErrors looks at the errors that are a selector's or a list of fields'.
func TestRecordedErrors(t *testing.T) {
	words := []string{"bad_arg", "not_supported", "invalid_operator", "bad_field", "invalid_selector", "invalid_field"}
	checked := 0
	recordedSteps(t, "mango-errors", func(t *testing.T, scenario string, steps []recordedStep) {
		for _, step := range steps {
			if !strings.HasPrefix(step.request, "POST /$db/_find") || step.status != 400 {
				continue
			}
			body := parsed(t, step.body)
			word, _ := body.Get("error")
			if !slices.Contains(words, word.Text()) {
				continue
			}
			checked++
			_, err := collection{}.find(step.json)
			if list, ok := step.json.Get("fields"); ok && err == nil {
				_, err = selector.ParseFields(list)
			}
			checkFind(t, scenario, step, nil, err)
		}
	})
	if checked < 150 {
		t.Errorf("%d requests checked", checked)
	}
}

// TestRecordedNormalForms compares the normal form with what _explain shows, and parses it again.
func TestRecordedNormalForms(t *testing.T) {
	checked := 0
	for _, name := range []string{"mango-explain", "mango-errors", "mango-names", "mango-selection"} {
		recordedSteps(t, name, func(t *testing.T, scenario string, steps []recordedStep) {
			for _, step := range steps {
				sel, ok := step.json.Get("selector")
				if !ok || !strings.HasPrefix(step.request, "POST /$db/_explain") || step.status != 200 {
					continue
				}
				checked++
				answer := parsed(t, step.body)
				want, _ := answer.Get("selector")
				s, err := selector.ParseSelector35(sel)
				if err != nil {
					t.Errorf("%s: %s: %v", scenario, sel.Raw(), err)
					continue
				}
				if got := string(s.AppendJSON(nil)); got != string(want.AppendJSON(nil)) {
					t.Errorf("%s: %s: %s, want %s", scenario, sel.Raw(), got, want.Raw())
				}
			}
		})
	}
	if checked < 150 {
		t.Errorf("%d requests checked", checked)
	}
}
