package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"slices"
	"strings"
)

// sameJSON reports whether a and b hold the same JSON value; where they are not one value, the same
// values line by line (feeds). Member order, white space and the form of numbers do not count.
// unordered lets the elements of arrays under rows, results and docs stand in any order.
func sameJSON(a, b []byte, unordered bool) bool {
	x, ok := jsonValues(a)
	if !ok {
		return false
	}
	y, ok := jsonValues(b)
	return ok && equalValues(x, y, unordered)
}

// jsonValues parses text as one JSON value, or as one for each line that is not blank.
func jsonValues(text []byte) (any, bool) {
	if v, ok := parseJSON(text); ok {
		return v, true
	}
	values := []any{}
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, ok := parseJSON(line)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// parseJSON parses one value and nothing behind it; numbers stay as they are written.
func parseJSON(text []byte) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

// equalValues compares parsed JSON. Numbers are equal by value, so 1.0 is 1. With unordered, the
// elements of rows, results and docs may come in any order: a cluster of CouchDB gives them as its
// shards answer.
func equalValues(a, b any, unordered bool) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			w, ok := y[name]
			if !ok {
				return false
			}
			if unordered && (name == "rows" || name == "results" || name == "docs") {
				v, w = sorted(v), sorted(w)
			}
			if !equalValues(v, w, unordered) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(v, w any) bool { return equalValues(v, w, unordered) })
	case json.Number:
		y, ok := b.(json.Number)
		return ok && equalNumbers(x.String(), y.String())
	default:
		return a == b
	}
}

// sorted returns the array v ordered by its elements' texts; anything else as it is.
func sorted(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(valueText(a), valueText(b)) })
	return list
}

// valueText is a value's text with members in the order of their names.
func valueText(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // cannot happen with values that were parsed from JSON
		return err.Error()
	}
	return string(text)
}

// equalNumbers compares integers exactly and everything else as doubles, which is what a client
// would see.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Int).SetString(a, 10)
	y, okY := new(big.Int).SetString(b, 10)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	f, errF := json.Number(a).Float64()
	g, errG := json.Number(b).Float64()
	return errF == nil && errG == nil && f == g
}
