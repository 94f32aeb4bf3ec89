package patch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
)

// The model: documents as plain values, which are copied as a whole. Objects are lists of members,
// numbers are texts.
type (
	object []member
	member struct {
		name  string
		value any
	}
)

func (o object) at(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// decode reads what the generator makes.
func decode(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, _ := d.Token()
			o = append(o, member{name.(string), decode(d)})
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, decode(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

func decoded(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return decode(d)
}

func encoded(v any) string {
	switch v := v.(type) {
	case object:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = encoded(m.name) + ":" + encoded(m.value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = encoded(e)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func clone(v any) any { return decoded(encoded(v)) }

// merged is RFC 7396, section 2, word by word.
func merged(target, patch any) any {
	changes, ok := patch.(object)
	if !ok {
		return patch
	}
	result, _ := target.(object)
	result = slices.Clone(result)
	for _, m := range changes {
		at := result.at(m.name)
		switch {
		case m.value == nil && at >= 0:
			result = slices.Delete(result, at, at+1)
		case m.value == nil:
		case at >= 0:
			result[at].value = merged(result[at].value, m.value)
		default:
			result = append(result, member{m.name, merged(nil, m.value)})
		}
	}
	if result == nil {
		result = object{}
	}
	return result
}

var (
	errNothing = errors.New("400")
	errTest    = errors.New("409")
)

// edit is the value after an edit of what a pointer names: with the tokens on the way left, at the
// last one edit is asked.
func edit(v any, tokens []string, last func(parent any, token string) (any, error)) (any, error) {
	if len(tokens) == 1 {
		return last(v, tokens[0])
	}
	switch v := v.(type) {
	case object:
		at := v.at(tokens[0])
		if at < 0 {
			return nil, errNothing
		}
		child, err := edit(v[at].value, tokens[1:], last)
		v[at].value = child
		return v, err
	case []any:
		at, err := element(tokens[0], len(v))
		if err != nil {
			return nil, err
		}
		v[at], err = edit(v[at], tokens[1:], last)
		return v, err
	}
	return nil, errNothing
}

func element(token string, below int) (int, error) {
	n, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(n) != token || n < 0 || n >= below {
		return 0, errNothing
	}
	return n, nil
}

func found(v any, tokens []string) (any, error) {
	var value any
	in, way := object{{"", clone(v)}}, append([]string{""}, tokens...)
	_, err := edit(in, way, func(parent any, token string) (any, error) {
		switch parent := parent.(type) {
		case object:
			if at := parent.at(token); at >= 0 {
				value = parent[at].value
				return parent, nil
			}
		case []any:
			if at, err := element(token, len(parent)); err == nil {
				value = parent[at]
				return parent, nil
			}
		}
		return nil, errNothing
	})
	return value, err
}

func added(v any, tokens []string, value any) (any, error) {
	if len(tokens) == 0 {
		return value, nil
	}
	return edit(v, tokens, func(parent any, token string) (any, error) {
		switch parent := parent.(type) {
		case object:
			if at := parent.at(token); at >= 0 {
				parent[at].value = value
				return parent, nil
			}
			return append(parent, member{token, value}), nil
		case []any:
			if token == "-" {
				token = strconv.Itoa(len(parent))
			}
			at, err := element(token, len(parent)+1)
			if err != nil {
				return nil, err
			}
			return slices.Insert(parent, at, value), nil
		}
		return nil, errNothing
	})
}

func removed(v any, tokens []string) (any, error) {
	if len(tokens) == 0 {
		return nil, errNothing
	}
	return edit(v, tokens, func(parent any, token string) (any, error) {
		switch parent := parent.(type) {
		case object:
			if at := parent.at(token); at >= 0 {
				return slices.Delete(parent, at, at+1), nil
			}
		case []any:
			if at, err := element(token, len(parent)); err == nil {
				return slices.Delete(parent, at, at+1), nil
			}
		}
		return nil, errNothing
	})
}

func same(a, b any) bool {
	switch a := a.(type) {
	case object:
		other, ok := b.(object)
		if !ok || len(a) != len(other) {
			return false
		}
		for _, m := range a {
			if at := other.at(m.name); at < 0 || !same(m.value, other[at].value) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, same)
	case json.Number:
		other, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(other.String())
		return x.Cmp(y) == 0
	}
	return a == b
}

// sum adds integers exactly; others are rounded once, as the sum of doubles is.
func sum(a, b any) (any, error) {
	x, ok := a.(json.Number)
	if !ok {
		return nil, errNothing
	}
	y := b.(json.Number)
	p, _ := new(big.Rat).SetString(x.String())
	q, _ := new(big.Rat).SetString(y.String())
	if !strings.ContainsAny(x.String()+y.String(), ".e") {
		return json.Number(p.Add(p, q).RatString()), nil
	}
	f, _ := p.Float64()
	g, _ := q.Float64()
	return json.Number(ejson.AppendFloat(nil, f+g)), nil
}

// op is an operation of the generator.
type op struct {
	name       string
	path, from []string
	value      any
}

func (o *op) apply(v any) (any, error) {
	switch o.name {
	case "add":
		return added(v, o.path, clone(o.value))
	case "remove":
		return removed(v, o.path)
	case "test":
		at, err := found(v, o.path)
		if err == nil && !same(at, o.value) {
			err = errTest
		}
		return v, err
	}
	if o.name == "replace" || o.name == "increment" {
		old, err := found(v, o.path)
		if err != nil {
			return nil, err
		}
		value := clone(o.value)
		if o.name == "increment" {
			if value, err = sum(old, o.value); err != nil {
				return nil, err
			}
		}
		if len(o.path) == 0 {
			return value, nil
		}
		return edit(v, o.path, func(parent any, token string) (any, error) {
			switch parent := parent.(type) {
			case object:
				parent[parent.at(token)].value = value
			case []any:
				n, _ := strconv.Atoi(token)
				parent[n] = value
			}
			return parent, nil
		})
	}
	value, err := found(v, o.from) // move and copy
	if err != nil {
		return nil, err
	}
	if o.name == "move" {
		if slices.Equal(o.from, o.path) {
			return v, nil
		}
		if v, err = removed(v, o.from); err != nil {
			return nil, err
		}
	}
	return added(v, o.path, value)
}

func pointerText(tokens []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	text := ""
	for _, token := range tokens {
		text += "/" + escape.Replace(token)
	}
	return text
}

func (o *op) json() any {
	list := object{{"op", o.name}, {"path", pointerText(o.path)}}
	switch o.name {
	case "remove":
	case "move", "copy":
		list = append(list, member{"from", pointerText(o.from)})
	default:
		list = append(list, member{"value", o.value})
	}
	return list
}

// gen makes documents and patches. Names are few, so that they meet, and some need escapes; objects
// have sometimes more members than are looked through one by one.
type gen struct{ *rand.Rand }

var names = []string{"a", "b", "c", "a/b", "m~n", "~1", "", "0", "é", `q"`, "x_1", "-"}

func (g gen) name() string { return names[g.IntN(len(names))] }

func (g gen) number() json.Number {
	return json.Number([]string{"0", "1", "-7", "18446744073709551615", "123456789012345678901234567890", "1.0", "0.25", "-2.5"}[g.IntN(8)])
}

func (g gen) value(depth int) any {
	if depth > 0 && g.IntN(2) == 0 {
		if g.IntN(2) == 0 {
			return g.object(depth - 1)
		}
		list := make([]any, g.IntN(5))
		for i := range list {
			list[i] = g.value(depth - 1)
		}
		return list
	}
	return []any{nil, true, false, g.number(), g.name(), "text", object{}, []any{}}[g.IntN(8)]
}

func (g gen) object(depth int) object {
	o := object{}
	for range g.IntN(5) {
		if name := g.name(); o.at(name) < 0 {
			o = append(o, member{name, g.value(depth)})
		}
	}
	if g.IntN(10) == 0 {
		for i := range 30 {
			o = append(o, member{fmt.Sprintf("n%d", i), g.value(0)})
		}
	}
	return o
}

// pointer is usually one to a value that is there, or to a place beside it.
func (g gen) pointer(v any) (tokens []string) {
	for len(tokens) < 5 && g.IntN(5) > 0 {
		switch at := v.(type) {
		case object:
			if len(at) == 0 || g.IntN(6) == 0 {
				return append(tokens, g.name())
			}
			m := at[g.IntN(len(at))]
			tokens, v = append(tokens, m.name), m.value
		case []any:
			if len(at) == 0 || g.IntN(4) == 0 {
				return append(tokens, []string{"-", strconv.Itoa(len(at)), "0", "01", "9"}[g.IntN(5)])
			}
			n := g.IntN(len(at))
			tokens, v = append(tokens, strconv.Itoa(n)), at[n]
		default:
			return tokens
		}
	}
	return tokens
}

func (g gen) op(v any) op {
	o := op{
		name: []string{"add", "remove", "replace", "move", "copy", "test", "increment"}[g.IntN(7)],
		path: g.pointer(v), from: g.pointer(v), value: g.value(2),
	}
	switch o.name {
	case "test":
		if at, err := found(v, o.path); err == nil && g.IntN(5) > 0 {
			o.value = clone(at)
			if list, ok := o.value.(object); ok {
				g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			}
		}
	case "increment":
		o.value = g.number()
	case "move":
		if len(o.from) < len(o.path) && slices.Equal(o.from, o.path[:len(o.from)]) {
			o.path = o.from
		}
	}
	return o
}

// TestAgainstModel: 10,000 documents with a patch each become what plain values become, or fail as
// these do.
func TestAgainstModel(t *testing.T) {
	runs := 10_000
	if testing.Short() {
		runs = 1000
	}
	changed, refused := 0, 0
	for seed := range uint64(runs) {
		g := gen{rand.New(rand.NewPCG(seed, 42))}
		doc := g.object(3)
		body := encoded(doc)
		var want any
		var wantErr error
		var text string
		if g.IntN(3) == 0 {
			patch := g.object(3)
			text, want = encoded(patch), merged(clone(doc), patch)
		} else {
			ops := []any{}
			want = clone(doc)
			for range 1 + g.IntN(8) {
				o := g.op(want)
				ops = append(ops, o.json())
				var after any
				if after, wantErr = o.apply(clone(want)); wantErr != nil {
					break
				}
				want = after
			}
			text = encoded(ops)
			if _, ok := want.(object); wantErr == nil && !ok {
				wantErr = errNothing
			}
		}
		_, result, err := apply(body, text, 0)
		switch e, _ := compat.AsError(err); {
		case wantErr != nil:
			refused++
			if e == nil || strconv.Itoa(e.Status()) != wantErr.Error() {
				t.Fatalf("seed %d: %s and %s: %v, want %v", seed, body, text, err, wantErr)
			}
		case err != nil:
			t.Fatalf("seed %d: %s and %s: %v, want %s", seed, body, text, err, encoded(want))
		case string(result.Body) != encoded(want):
			t.Fatalf("seed %d: %s and %s:\n%s, want\n%s", seed, body, text, result.Body, encoded(want))
		case string(result.Body) != body:
			changed++
		}
	}
	if changed < runs/4 || refused < runs/10 {
		t.Errorf("of %d, %d changed their document and %d were refused: too few to say much", runs, changed, refused)
	}
}

// TestFind: a pointer finds in the text of a document what the model finds in the decoded one.
func TestFind(t *testing.T) {
	g := gen{rand.New(rand.NewPCG(3, 4))}
	hits := 0
	for range 20_000 {
		doc := g.object(4)
		v, err := ejson.Parse([]byte(encoded(doc)))
		if err != nil {
			t.Fatal(err)
		}
		tokens := g.pointer(doc)
		want, missing := found(doc, tokens)
		got, ok := patch.Pointer(tokens).Find(v.AppendJSON(nil))
		if ok != (missing == nil) || ok && encoded(decoded(string(got))) != encoded(want) {
			t.Fatalf("%q in %s: %s, %v, want %v, %v", tokens, encoded(doc), got, ok, want, missing)
		}
		if ok {
			hits++
		}
	}
	if hits < 5000 {
		t.Errorf("only %d pointers found something", hits)
	}
}
