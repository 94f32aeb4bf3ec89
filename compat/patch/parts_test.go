package patch_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
)

// part is an operation on plain values: steps are names and numbers, of which -1 is the last element.
type part struct {
	name    string
	steps   []any
	path    string
	value   any
	creates bool
}

// stepInto gives the child of a value; missing with ErrPathNotFound.
func stepInto(v, key any) (any, error) {
	switch v := v.(type) {
	case object:
		if name, ok := key.(string); ok {
			if at := v.at(name); at >= 0 {
				return v[at].value, nil
			}
			return nil, patch.ErrPathNotFound
		}
	case []any:
		if n, ok := key.(int); ok {
			if n < 0 {
				n = len(v) - 1
			}
			if n >= 0 && n < len(v) {
				return v[n], nil
			}
			return nil, patch.ErrPathNotFound
		}
	}
	return nil, patch.ErrPathMismatch
}

func put(v, key, child any) any {
	if list, ok := v.([]any); ok {
		n := key.(int)
		if n < 0 {
			n = len(list) - 1
		}
		list[n] = child
		return list
	}
	o := v.(object)
	if at := o.at(key.(string)); at >= 0 {
		o[at].value = child
		return o
	}
	return append(o, member{key.(string), child})
}

func (p *part) toArray() bool {
	return p.name == "arrayAppend" || p.name == "arrayPrepend" || p.name == "arrayAddUnique"
}

// change is what couchbase.mutateIn did with values that were parsed, in the same order of questions.
func (p *part) change(v any, steps []any) (any, error) {
	if len(steps) == 0 {
		return p.addTo(v)
	}
	key := steps[0]
	_, isPosition := key.(int)
	child, err := stepInto(v, key)
	if err == patch.ErrPathMismatch {
		return nil, err
	}
	if missing := err != nil; len(steps) > 1 || p.toArray() {
		never := p.name == "replace" || p.name == "remove" || p.name == "arrayInsert"
		if missing && (!p.creates || never || isPosition) {
			return nil, patch.ErrPathNotFound
		}
		if missing && len(steps) > 1 {
			child = object{}
		} else if missing {
			child = []any{}
		}
		if child, err = p.change(child, steps[1:]); err != nil {
			return nil, err
		}
		return put(v, key, child), nil
	}
	return p.last(v, key, child, err)
}

func (p *part) last(v, key, child any, missing error) (any, error) {
	n, isPosition := key.(int)
	switch p.name {
	case "insert":
		if isPosition {
			return nil, patch.ErrPathMismatch
		}
		if missing == nil {
			return nil, patch.ErrPathExists
		}
	case "arrayInsert":
		if !isPosition || n < 0 {
			return nil, patch.ErrPathInvalid
		}
		list := v.([]any)
		if n > len(list) {
			return nil, patch.ErrPathNotFound
		}
		return slices.Insert(list, n, p.value), nil
	case "upsert":
		if isPosition && missing != nil {
			return nil, missing
		}
	case "increment":
		if missing == nil {
			total, err := sum(child, p.value)
			if err != nil {
				return nil, patch.ErrPathMismatch
			}
			return put(v, key, total), nil
		}
		if isPosition {
			return nil, missing
		}
	default:
		if missing != nil {
			return nil, missing
		}
	}
	if p.name != "remove" {
		return put(v, key, p.value), nil
	}
	if list, ok := v.([]any); ok {
		if n < 0 {
			n = len(list) - 1
		}
		return slices.Delete(list, n, n+1), nil
	}
	o := v.(object)
	at := o.at(key.(string))
	return slices.Delete(o, at, at+1), nil
}

func (p *part) addTo(v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, patch.ErrPathMismatch
	}
	switch p.name {
	case "arrayPrepend":
		return slices.Insert(list, 0, p.value), nil
	case "arrayAddUnique":
		for _, e := range append(slices.Clone(list), p.value) {
			switch e.(type) {
			case object, []any:
				return nil, patch.ErrPathMismatch
			}
		}
		if slices.ContainsFunc(list, func(e any) bool { return same(e, p.value) }) {
			return nil, patch.ErrPathExists
		}
	}
	return append(list, p.value), nil
}

// apply is an operation on a copy of a value.
func (p *part) apply(v any) (any, error) {
	switch {
	case p.steps != nil && len(p.steps) == 0 && p.name == "increment":
		total, err := sum(v, p.value)
		if err != nil {
			return nil, patch.ErrPathMismatch
		}
		return total, nil
	case p.steps == nil || len(p.steps) > 32 || len(p.steps) == 0 && !p.toArray():
		return nil, patch.ErrPathInvalid
	}
	p.value = clone(p.value)
	return p.change(clone(v), p.steps)
}

func pathText(steps []any) string {
	text := ""
	for i, s := range steps {
		name, isName := s.(string)
		switch {
		case !isName:
			text += "[" + strconv.Itoa(s.(int)) + "]"
			continue
		case i > 0:
			text += "."
		}
		if name == "" || strings.ContainsAny(name, ".[]`") {
			name = "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
		text += name
	}
	return text
}

var (
	partNames = []string{
		"insert", "upsert", "replace", "remove", "arrayAppend", "arrayPrepend", "arrayInsert", "arrayAddUnique", "increment",
	}
	noPaths = []string{"a..b", ".a", "a.", "[x]", "[01]", "[-2]", "[1234567890]", "a]", "a.[0]", "`a", "[0]b", "[0", "```"}
)

// part is usually one of a value that is there, or of a place beside it.
func (g gen) part(v any) *part {
	p := &part{name: partNames[g.IntN(len(partNames))], steps: []any{}, creates: g.IntN(3) == 0, value: g.value(2)}
	if p.name == "increment" {
		p.value = g.number()
	}
	if g.IntN(30) == 0 {
		p.steps, p.path = nil, noPaths[g.IntN(len(noPaths))]
		return p
	}
	for g.IntN(5) > 0 {
		key := any(g.name())
		switch at := v.(type) {
		case object:
			if len(at) > 0 && g.IntN(5) > 0 {
				key = at[g.IntN(len(at))].name
			}
		case []any:
			if g.IntN(10) > 0 {
				key = g.IntN(len(at)+3) - 1
			}
			if n, ok := key.(int); ok && n < len(at) && n >= 0 && p.name == "arrayAddUnique" {
				p.value = at[n]
			}
		}
		p.steps = append(p.steps, key)
		v, _ = stepInto(v, key)
	}
	p.path = pathText(p.steps)
	return p
}

// TestPartsAgainstModel: random operations on random documents leave the text that they leave of plain
// values, so that what they are not about is the same byte for byte; or they fail as these do, and
// leave what was there.
func TestPartsAgainstModel(t *testing.T) {
	runs := 4000
	if testing.Short() {
		runs = 1000
	}
	done, refused := map[string]int{}, map[string]int{}
	for seed := range uint64(runs) {
		g := gen{rand.New(rand.NewPCG(seed, 43))}
		doc := any(g.object(3))
		if g.IntN(10) == 0 {
			doc = g.value(3)
		}
		body := encoded(doc)
		p, err := patch.OpenParts([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + g.IntN(8) {
			o := g.part(doc)
			after, want := o.apply(doc)
			got := p.Apply(patch.PartOperation{
				Name: o.name, Path: o.path, Value: []byte(encoded(o.value)), Creates: o.creates,
			})
			if !errors.Is(got, want) {
				t.Fatalf("seed %d: %s %q %s of %s: %v, want %v",
					seed, o.name, o.path, encoded(o.value), encoded(doc), got, want)
			}
			if want == nil {
				doc = after
				done[o.name]++
			} else {
				refused[o.name+want.Error()]++
			}
			if text := string(p.Text()); text != encoded(doc) {
				t.Fatalf("seed %d: %s %q %s:\n%s, want\n%s", seed, o.name, o.path, encoded(o.value), text, encoded(doc))
			}
			value, missing := doc, error(nil)
			for _, s := range o.steps {
				if value, missing = stepInto(value, s); missing != nil {
					break
				}
			}
			text, ok := p.Find(o.path)
			if ok != (missing == nil && o.steps != nil && len(o.steps) <= 32) || ok && string(text) != encoded(value) {
				t.Fatalf("seed %d: %q of %s is %s, %v", seed, o.path, encoded(doc), text, ok)
			}
		}
	}
	for _, name := range partNames {
		if done[name] < runs/200 {
			t.Errorf("%s was done %d times: too few to say much", name, done[name])
		}
	}
	if len(refused) < 20 {
		t.Errorf("only %d ways to fail were met", len(refused))
	}
}

// TestPartsKeepText: numbers of all forms, many digits, names that are numbers and escapes stay as they
// are around what is changed.
func TestPartsKeepText(t *testing.T) {
	const rest = `"9":1.0,"1":1.0e3,"n":12345678901234567890,"s":"\u0001\n","e":{},"l":[1.50,{"b":2,"a":-0.0}]}`
	p, err := patch.OpenParts([]byte(`{"count":9007199254740993,` + rest))
	if err != nil {
		t.Fatal(err)
	}
	one := patch.PartOperation{Name: "increment", Path: "count", Value: []byte("1")}
	if err := p.Apply(one); err != nil {
		t.Fatal(err)
	}
	v, err := ejson.Parse([]byte(`{"count":9007199254740994,` + rest))
	if err != nil {
		t.Fatal(err)
	}
	if want := string(v.AppendJSON(nil)); string(p.Text()) != want {
		t.Errorf("%s, want %s", p.Text(), want)
	}
}

func FuzzParts(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, "arrayInsert", "a[1]", `3`, true)
	f.Add(`[1]`, "arrayAddUnique", "", `1.0`, false)
	f.Add(`{"":1}`, "increment", "``", `1e400`, false)
	for _, path := range noPaths {
		f.Add(`{"a":[]}`, "upsert", path, `{}`, true)
	}
	f.Fuzz(func(t *testing.T, body, name, path, value string, creates bool) {
		p, err := patch.OpenParts([]byte(body))
		if err != nil {
			return
		}
		before := p.Text()
		p.Find(path)
		err = p.Apply(patch.PartOperation{Name: name, Path: path, Value: []byte(value), Creates: creates})
		if err != nil && string(p.Text()) != string(before) {
			t.Errorf("%v has left %s", err, p.Text())
		}
		if !json.Valid(p.Text()) {
			t.Errorf("%s of %q in %s: %s", name, path, body, p.Text())
		}
	})
}
