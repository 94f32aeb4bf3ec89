package aggregate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/selector"
)

// brute computes an answer from the documents alone: no index, no accumulator, numbers as fractions.
type brute struct {
	docs     map[string]ejson.Value
	selector *selector.Selector

	partition string // whose documents are looked at; "" for all
}

func at(doc ejson.Value, field string) (ejson.Value, bool) {
	for _, part := range strings.Split(field, ".") {
		if doc.Kind() != ejson.Object {
			return doc, false
		}
		var ok bool
		if doc, ok = doc.Get(part); !ok {
			return doc, false
		}
	}
	return doc, true
}

func rat(v ejson.Value) *big.Rat {
	if v.Kind() == ejson.Int {
		return new(big.Rat).SetInt(v.BigInt())
	}
	f, _ := v.Float()
	return new(big.Rat).SetFloat64(f)
}

// groupsOf gives the documents of each group, in the order of ids, by the collation key of the group.
func (b *brute) groupsOf(t testing.TB, r *Request) (groups map[string][]string, ungrouped int64) {
	groups = make(map[string][]string)
	for id, doc := range b.docs {
		if b.partition != "" && !strings.HasPrefix(id, b.partition+":") {
			continue
		}
		passes, err := b.selector.Match(doc)
		check(t, err)
		if !passes {
			continue
		}
		key, ok := "", true
		for _, g := range r.groups {
			v, has := at(doc, g.name)
			switch {
			case !has:
				ok = false
			case g.prefix > 0:
				ok = ok && v.Kind() == ejson.String
				letters := []rune(v.Text())
				v = parse(t, string(ejson.AppendString(nil, string(letters[:min(g.prefix, len(letters))]))))
			case g.floor.Kind() != ejson.Invalid:
				if ok = ok && isNumber(v); ok {
					x, _ := v.Float()
					step, _ := g.floor.Float()
					text := string(ejson.AppendFloat(nil, math.Floor(x/step)*step))
					if v.Kind() == ejson.Int && g.floor.Kind() == ejson.Int {
						q := new(big.Rat).Quo(rat(v), rat(g.floor))
						whole := new(big.Int).Div(q.Num(), q.Denom())
						text = whole.Mul(whole, g.floor.BigInt()).String()
					}
					v = parse(t, text)
				}
			}
			if !ok {
				break
			}
			key += string(collate.AppendKey(nil, v))
		}
		if !ok {
			ungrouped++
			continue
		}
		groups[key] = append(groups[key], id)
	}
	if len(r.groups) == 0 && len(groups) == 0 {
		groups[""] = nil
	}
	return groups, ungrouped
}

// number is a number as brute force compares it: exactly, but where doubles were added up.
func number(n *big.Rat, doubles bool) string {
	if !doubles {
		return n.RatString()
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', 9, 64)
}

// value computes a value of a group as fractions or texts; doubles says that some of the numbers are.
func (b *brute) value(t testing.TB, r *Request, a accumulation, ids []string) (value string, doubles bool) {
	if a.op == countOp {
		return fmt.Sprint(len(ids)), false
	}
	type entry struct {
		v     ejson.Value
		order string
	}
	var have []entry
	sum, squares, numbers := new(big.Rat), new(big.Rat), 0
	var least, most *big.Rat
	different := make(map[string]bool)
	for _, id := range ids {
		v, ok := at(b.docs[id], r.fields[a.field])
		if !ok {
			continue
		}
		order := ""
		for _, g := range r.groups {
			raw, _ := at(b.docs[id], g.name)
			order += string(collate.AppendKey(nil, raw))
		}
		have = append(have, entry{v, order + id})
		different[string(collate.AppendKey(nil, v))] = true
		if isNumber(v) {
			n := rat(v)
			numbers++
			doubles = doubles || v.Kind() == ejson.Double
			sum.Add(sum, n)
			squares.Add(squares, new(big.Rat).Mul(n, n))
			if least == nil || n.Cmp(least) < 0 {
				least = n
			}
			if most == nil || n.Cmp(most) > 0 {
				most = n
			}
		}
	}
	switch a.op {
	case "$sum":
		return number(sum, doubles), doubles
	case "$avg", "$stats":
		if numbers == 0 {
			return "null", false
		}
		if a.op == "$avg" {
			f, _ := new(big.Rat).Quo(sum, big.NewRat(int64(numbers), 1)).Float64()
			return number(new(big.Rat).SetFloat64(f), doubles), doubles
		}
		return fmt.Sprint(number(sum, doubles), strconv.Itoa(numbers), number(least, doubles), number(most, doubles),
			number(squares, doubles)), doubles
	case "$distinct":
		return fmt.Sprint(len(different)), false
	}
	if len(have) == 0 {
		return "null", false
	}
	best := have[0]
	for _, e := range have[1:] {
		byValue, byOrder := collate.Compare(e.v, best.v), cmp.Compare(e.order, best.order)
		if a.op == "$min" && byValue < 0 || a.op == "$max" && byValue > 0 || a.op == "$first" && byOrder < 0 ||
			a.op == "$last" && byOrder > 0 {
			best = e
		}
	}
	return string(collate.AppendKey(nil, best.v)), false
}

// shown is a value of an answer in the form of brute.value.
func shown(a accumulation, v ejson.Value, doubles bool) string {
	number := func(v ejson.Value) string { return number(rat(v), doubles) }
	member := func(name string) ejson.Value { m, _ := v.Get(name); return m }
	switch a.op {
	case countOp, "$distinct", "$sum":
		return number(v)
	case "$avg", "$stats":
		if v.IsNull() {
			return "null"
		}
		if a.op == "$avg" {
			return number(v)
		}
		return fmt.Sprint(number(member("sum")), rat(member("count")).RatString(), number(member("min")),
			number(member("max")), number(member("sumsqr")))
	}
	if v.IsNull() {
		return "null"
	}
	return string(collate.AppendKey(nil, v))
}

// compare tells where an answer differs from brute force, "" for nowhere.
func (b *brute) compare(t testing.TB, request string, res result) string {
	r, err := Parse(parse(t, request), mango.Defaults{Limit: 1 << 40})
	check(t, err)
	b.selector = r.query.Selector
	groups, ungrouped := b.groupsOf(t, r)
	if res.ungrouped != ungrouped {
		return fmt.Sprintf("%d documents without a group, not %d", res.ungrouped, ungrouped)
	}
	if len(res.groups) != len(groups) {
		return fmt.Sprintf("%d groups, not %d", len(res.groups), len(groups))
	}
	var before []byte
	for _, g := range res.groups {
		key, _ := g.Get("key")
		var sortable []byte
		for e := range key.Elements() {
			sortable = collate.AppendKey(sortable, e)
		}
		ids, ok := groups[string(sortable)]
		if !ok {
			return "unknown group " + text(key)
		}
		delete(groups, string(sortable))
		if len(r.order) == 0 && before != nil && bytes.Compare(before, sortable) >= 0 {
			return "the groups are not in order"
		}
		before = sortable
		for _, a := range r.values {
			v, _ := g.Get(a.name)
			want, doubles := b.value(t, r, a, ids)
			if v.IsNull() && want == string(collate.AppendKey(nil, v)) {
				want = "null" // the value of the field
			}
			if got := shown(a, v, doubles); got != want {
				return fmt.Sprintf("%s of %s: %q, not %q: %s", a.op, text(key), got, want, text(v))
			}
		}
	}
	return ""
}
