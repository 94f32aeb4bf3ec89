package aggregate

import (
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// keyOf is the group that a document belongs to.
type keyOf struct {
	sortable []byte // the collation keys of its values, which order groups
	json     []byte // the values as an array
}

// appendGroup makes the key of the group of a document with some values, in the memory of k; ok is
// false where the document has none.
func (r *Request) appendGroup(k *keyOf, values []ejson.Value) (ok bool) {
	k.sortable, k.json = k.sortable[:0], append(k.json[:0], '[')
	for i := range r.groups {
		v, ok := r.groups[i].of(values[r.groups[i].field])
		if !ok {
			return false
		}
		if i > 0 {
			k.json = append(k.json, ',')
		}
		k.json = v.AppendJSON(k.json)
		k.sortable = collate.AppendKey(k.sortable, v)
	}
	k.json = append(k.json, ']')
	return true
}

// of gives the part of a field's value that makes the group: all of it, a prefix or a floor; ok is
// false where it has none.
func (g *groupField) of(v ejson.Value) (out ejson.Value, ok bool) {
	switch {
	case g.whole():
		return v, v.Kind() != ejson.Invalid
	case g.prefix > 0:
		if v.Kind() != ejson.String {
			return out, false
		}
		return parsed(ejson.AppendString(nil, firstCharacters(v.Text(), g.prefix)))
	}
	json, ok := floorOf(v, g.floor)
	if !ok {
		return out, false
	}
	return parsed(json)
}

func parsed(json []byte) (ejson.Value, bool) {
	v, err := ejson.Parse(json)
	return v, err == nil
}

// firstCharacters cuts a text after n code points.
func firstCharacters(s string, n int) string {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at]
}

func isNumber(v ejson.Value) bool { return v.Kind() == ejson.Int || v.Kind() == ejson.Double }

func isPositive(v ejson.Value) bool {
	f, ok := v.Float()
	return isNumber(v) && ok && f > 0 && !math.IsInf(f, 0)
}

// floorOf gives the greatest multiple of step, which is above 0, that is not above a number: exactly
// where both are integers, else as a double. ok is false for what is no number, or where the
// multiple is beyond all doubles.
func floorOf(v, step ejson.Value) (json []byte, ok bool) {
	if !isNumber(v) {
		return nil, false
	}
	if v.Kind() == ejson.Int && step.Kind() == ejson.Int {
		m := step.BigInt()
		n, rest := v.BigInt(), new(big.Int)
		rest.Mod(n, m) // of Euclid, not negative: n − rest is the floor for negative n, too
		return new(big.Int).Sub(n, rest).Append(nil, 10), true
	}
	x, okX := v.Float()
	f, okF := step.Float()
	low := math.Floor(x/f) * f
	if !okX || !okF || math.IsInf(low, 0) || math.IsNaN(low) {
		return nil, false
	}
	return ejson.AppendFloat(nil, low), true
}
