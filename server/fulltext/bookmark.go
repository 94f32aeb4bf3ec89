package fulltext

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/segment"
)

// noBookmark is CouchDB's bookmark of _search when there is nothing to remember.
const noBookmark = "g2o"

var (
	errBookmark     = compat.NewError(compat.KindBadRequest, "Invalid bookmark parameter supplied")
	errBookmarkSort = compat.NewError(compat.KindBadRequest, "sort order not compatible with given bookmark")
)

// A bookmark of _search is a version, a hash of the sort, the sort values of the last hit and its
// identity, in URL-safe base64.
const bookmarkVersion = 1

const (
	bookmarkNumber byte = iota
	bookmarkText
	bookmarkNull
)

// hashOf names a sort in four bytes: a bookmark of another sort must not be taken for a place in
// this one.
func hashOf(sort []string) []byte {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(sort, "\x00")))
	return h.Sum(nil)
}

// bookmarkAfter is the bookmark of a page that ends with a hit.
func bookmarkAfter(sort []string, hit *index.Hit) string {
	b := append([]byte{bookmarkVersion}, hashOf(sort)...)
	for _, v := range hit.Sort {
		switch {
		case v.IsNull:
			b = append(b, bookmarkNull)
		case v.IsText:
			b = binary.AppendUvarint(append(b, bookmarkText), uint64(len(v.Text)))
			b = append(b, v.Text...)
		default:
			b = binary.BigEndian.AppendUint64(append(b, bookmarkNumber), math.Float64bits(v.Number))
		}
	}
	return base64.RawURLEncoding.EncodeToString(append(b, hit.Identity...))
}

// readBookmark is the inverse of bookmarkAfter; nil for that of a first page.
func readBookmark(text string, sort []string, fields int) (*index.After, error) {
	if text == noBookmark || text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(b) < 5 || b[0] != bookmarkVersion {
		return nil, errBookmark
	}
	// Sort values mean nothing in another order.
	if string(b[1:5]) != string(hashOf(sort)) {
		return nil, errBookmarkSort
	}
	after := &index.After{}
	for b = b[5:]; fields > 0; fields-- {
		if len(b) == 0 {
			return nil, errBookmark
		}
		kind := b[0]
		b = b[1:]
		switch {
		case kind == bookmarkNull:
			after.Values = append(after.Values, index.SortValue{IsNull: true})
		case kind == bookmarkNumber && len(b) >= 8:
			v := math.Float64frombits(binary.BigEndian.Uint64(b))
			after.Values, b = append(after.Values, index.SortValue{Number: v}), b[8:]
		case kind == bookmarkText:
			length, n := binary.Uvarint(b)
			// A bookmark is input: the length is held to what is there before it becomes an int.
			if n <= 0 || length > uint64(len(b)-n) {
				return nil, errBookmark
			}
			v := index.SortValue{Text: string(b[n : n+int(length)]), IsText: true}
			after.Values, b = append(after.Values, v), b[n+int(length):]
		default:
			return nil, errBookmark
		}
	}
	after.Identity = segment.Identity(b)
	return after, nil
}

// A bookmark of _nouveau is a list of the orders of the last hits of all shards, of which there is
// one.

// orderBookmark is the bookmark of a page that ends with a hit; without one there is nothing.
func orderBookmark(sort []index.SortField, hit *index.Hit) string {
	b := []byte("[")
	if hit != nil {
		b = appendOrder(b, sort, hit)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, ']'))
}

// appendOrder appends the sort values of a hit as Nouveau prints them.
func appendOrder(b []byte, sort []index.SortField, hit *index.Hit) []byte {
	b = append(b, '[')
	for i, v := range hit.Sort {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case v.IsNull:
			b = append(b, `{"@type":"null"}`...)
		case v.IsText:
			b = append(ejson.AppendString(append(b, `{"@type":"string","value":`...), v.Text), '}')
		case sort[i].By == index.ByScore:
			b = append(b, `{"@type":"float","value":`...)
			b = append(appendFloat32(b, float32(v.Number)), '}')
		default:
			b = append(b, `{"@type":"double","value":`...)
			b = append(ejson.AppendFloat(b, v.Number), '}')
		}
	}
	return append(b, ']')
}

// appendFloat32 appends the shortest number that is this one as a float32.
func appendFloat32(b []byte, f float32) []byte {
	// Java prints a float with the digits that tell it from other floats; the same number as a
	// double would have more of them.
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		v = float64(f)
	}
	return ejson.AppendFloat(b, v)
}

// readOrderBookmark is the inverse of orderBookmark; nil for that of a first page.
func readOrderBookmark(text string, sort []index.SortField) (*index.After, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, errBookmark
	}
	all, err := ejson.Parse(raw)
	if err != nil || all.Kind() != ejson.Array || all.Len() > 1 {
		return nil, errBookmark
	}
	var after *index.After
	for order := range all.Elements() {
		after = &index.After{}
		for v := range order.Elements() {
			value, ok := v.Get("value")
			n, isNumber := value.Float()
			i := len(after.Values)
			switch {
			case !ok:
				after.Values = append(after.Values, index.SortValue{IsNull: true})
			case value.Kind() == ejson.String:
				after.Values = append(after.Values, index.SortValue{Text: value.Text(), IsText: true})
			// Scores are floats in the index: the double that was read between has to become the
			// same float again, or the hit itself would come once more.
			case isNumber && i < len(sort) && sort[i].By == index.ByScore:
				after.Values = append(after.Values, index.SortValue{Number: float64(float32(n))})
			case isNumber:
				after.Values = append(after.Values, index.SortValue{Number: n})
			default:
				return nil, errBookmark
			}
		}
		if len(after.Values) != len(sort) {
			return nil, errBookmark
		}
	}
	return after, nil
}
