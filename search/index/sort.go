package index

import (
	"cmp"
	"github.com/settee-db/settee/search/segment"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// SortBy says which value a SortField compares.
type SortBy uint8

// What hits may be sorted by.
const (
	ByScore    SortBy = iota // the greatest first
	ByOrder                  // of the index: the oldest update first
	ByID                     // bytes of ids
	ByNumber                 // a number; documents without one have 0
	ByString                 // a text by its bytes; documents without one come first
	ByDistance               // from a place, in kilometres or miles
	ByNothing                // a field that no document has
)

// SortField is one of the things that hits are sorted by.
type SortField struct {
	By      SortBy
	Field   string
	Reverse bool
	// Distances: the fields with the coordinates, the place, the radius of the earth in the unit of
	// the answer.
	Longitude, Latitude string
	At                  [2]float64
	Radius              float64
}

// SortValue is what a hit has for a SortField: a number or a text, or nothing.
type SortValue struct {
	// The number for ByScore, ByNumber and ByDistance; the text for the others.
	Number float64
	Text   string
	IsText bool
	IsNull bool
}

const (
	radiusKilometres = 6378.137
	radiusMiles      = radiusKilometres * 0.621371192
)

var (
	clouseauSort = regexp.MustCompile(`^([-+])?([.\w]+)(?:<(\w+)>)?$`)
	nouveauSort  = regexp.MustCompile(`^([-+])?([.\w]+)$`)
	distanceSort = regexp.MustCompile(`^([-+])?<distance,([.\w]+),([.\w]+),([-+]?[0-9]+(?:\.[0-9]+)?),` +
		`([-+]?[0-9]+(?:\.[0-9]+)?),(mi|km)>$`)
)

// ParseSort reads what a query is sorted by, in the form of the kind of index; nothing is by score.
// Hits that are equal by all of it are in the order of the index (Clouseau) or of their ids
// (Nouveau).
func (x *Index) ParseSort(texts []string) ([]SortField, error) {
	var all []SortField
	for _, text := range texts {
		f, err := x.sortField(text)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = append(all, SortField{By: ByScore})
	}
	// Nouveau sorts by the id in the end; without it pages could lose or repeat equal hits.
	if x.Kind == segment.Nouveau && all[len(all)-1].By != ByID {
		all = append(all, SortField{By: ByID})
	}
	return all, nil
}

// sortField reads one item of sort. The texts <score>, <doc> and <distance,…> are Clouseau's,
// relevance is Nouveau's; both kinds of index take the first ones. Clouseau's -<score> is the usual
// order, best first, and <score> the reverse. A field's type is in the text (field<string>) for
// Clouseau, whereas Nouveau knows it from what was indexed. The errors are the texts of the two
// servers.
func (x *Index) sortField(text string) (SortField, error) {
	switch text {
	case "-<score>", "relevance":
		return SortField{By: ByScore}, nil
	case "<score>", "-relevance":
		return SortField{By: ByScore, Reverse: true}, nil
	case "<doc>":
		return SortField{By: ByOrder}, nil
	case "-<doc>":
		return SortField{By: ByOrder, Reverse: true}, nil
	}
	if m := distanceSort.FindStringSubmatch(text); m != nil {
		f := SortField{By: ByDistance, Reverse: m[1] == "-", Longitude: m[2], Latitude: m[3],
			Radius: radiusKilometres}
		f.At[0], _ = strconv.ParseFloat(m[4], 64)
		f.At[1], _ = strconv.ParseFloat(m[5], 64)
		if m[6] == "mi" {
			f.Radius = radiusMiles
		}
		return f, nil
	}
	if x.Kind == segment.Nouveau {
		return x.nouveauSortField(text)
	}
	m := clouseauSort.FindStringSubmatch(text)
	if m == nil {
		return SortField{}, &Error{"Unrecognized sort parameter: " + text}
	}
	f := SortField{By: ByNumber, Field: m[2], Reverse: m[1] == "-"}
	switch m[3] {
	case "string":
		f.By = ByString
	case "", "number":
		if info, ok := x.field(f.Field); ok && info.Docs > 0 && !info.Numbers {
			return f, &Error{"cannot sort string field as numeric field"}
		}
	default:
		return f, &Error{"Unrecognized type: " + m[3]}
	}
	return f, nil
}

// nouveauSortField reads a field as Nouveau does: the type is that of the values in the index.
// Sorting by a field that no document has is no error, all documents are equal then.
func (x *Index) nouveauSortField(text string) (SortField, error) {
	m := nouveauSort.FindStringSubmatch(text)
	if m == nil {
		return SortField{}, &Error{text + " is not a valid sort parameter"}
	}
	f := SortField{Field: m[2], Reverse: m[1] == "-"}
	info, ok := x.field(f.Field)
	switch {
	case f.Field == "_id":
		f.By, f.Field = ByID, ""
	case !ok:
		f.By = ByNothing
	case info.Numbers:
		f.By = ByNumber
	case info.Strings:
		f.By = ByString
	default:
		return f, &Error{"can't sort on field " + f.Field}
	}
	return f, nil
}

// field is the description of a field, over all segments.
func (x *Index) field(field string) (all segment.FieldInfo, ok bool) {
	for _, s := range x.Segments {
		info, found := s.Field(field)
		ok = ok || found
		all.Docs += info.Docs
		all.Length += info.Length
		all.Positions = all.Positions || info.Positions
		all.Numbers = all.Numbers || info.Numbers
		all.Strings = all.Strings || info.Strings
	}
	return all, ok
}

// bestFirst reports whether it is by score, the best first.
func (f *SortField) bestFirst() bool { return f.By == ByScore && !f.Reverse }

// compare orders two values of a field: below 0 if a comes first.
func (f *SortField) compare(a, b SortValue) int {
	c := 0
	switch f.By {
	case ByScore:
		c = cmp.Compare(b.Number, a.Number)
	case ByNumber, ByDistance:
		c = cmp.Compare(a.Number, b.Number)
	case ByNothing:
	default:
		switch {
		case a.IsNull && b.IsNull:
		case a.IsNull:
			c = -1
		case b.IsNull:
			c = 1
		default:
			c = strings.Compare(a.Text, b.Text)
		}
	}
	if f.Reverse {
		return -c
	}
	return c
}

// sorter finds the values of documents of one segment.
type sorter struct {
	fields  []SortField
	kind    segment.Kind
	segment *reading
	numbers [][2]segment.NumberColumn // by field; a distance has two
	strings []segment.StringColumn
	docs    *segment.DocumentReader // of blocks
}

// newSorter opens the columns of a segment that hits are sorted by. A segment without values of a
// field has no column for it.
func newSorter(kind segment.Kind, fields []SortField, s *reading) *sorter {
	o := &sorter{fields: fields, kind: kind, segment: s, numbers: make([][2]segment.NumberColumn, len(fields)),
		strings: make([]segment.StringColumn, len(fields)), docs: s.documents()}
	for i, f := range fields {
		switch {
		case f.By == ByNumber:
			o.numbers[i][0] = s.Numbers(s.run, f.Field)
		case f.By == ByDistance:
			o.numbers[i] = [2]segment.NumberColumn{s.Numbers(s.run, f.Longitude), s.Numbers(s.run, f.Latitude)}
		case f.By == ByString && kind == segment.Nouveau:
			o.strings[i] = s.Strings(s.run, f.Field)
		case f.By == ByString:
			o.strings[i] = s.Sorts(s.run, f.Field)
		}
	}
	return o
}

// value is what a document has for the i-th field.
func (o *sorter) value(i int, doc int32, score float32) SortValue {
	switch f := &o.fields[i]; f.By {
	case ByScore:
		return SortValue{Number: float64(score)}
	case ByOrder:
		return SortValue{Text: string(o.segment.Identity(o.segment.run, doc)), IsText: true}
	case ByID:
		return SortValue{Text: o.segment.ID(o.segment.run, doc), IsText: true}
	case ByNumber:
		v, _ := o.number(o.numbers[i][0], doc)
		return SortValue{Number: v}
	case ByDistance:
		return SortValue{Number: o.distance(f, o.numbers[i], doc)}
	case ByString:
		if o.strings[i] != nil {
			if ordinals := o.strings[i].Ordinals(doc); len(ordinals) > 0 {
				return SortValue{Text: o.strings[i].Value(ordinals[0]), IsText: true}
			}
		}
	}
	return SortValue{IsNull: true}
}

// compareID compares the id of a document with another one.
func (o *sorter) compareID(doc int32, id string) int {
	if o.docs == nil {
		return strings.Compare(o.segment.ID(o.segment.run, doc), id)
	}
	switch own := o.docs.ID(doc); {
	case string(own) < id:
		return -1
	case string(own) > id:
		return 1
	}
	return 0
}

// number is the number to sort by: Clouseau's cache of numbers kept the greatest, Nouveau takes the
// least.
func (o *sorter) number(column segment.NumberColumn, doc int32) (float64, bool) {
	if column == nil {
		return 0, false
	}
	all := column.Numbers(doc)
	switch {
	case len(all) == 0:
		return 0, false
	case o.kind == segment.Clouseau:
		return all[len(all)-1], true
	}
	return all[0], true
}

// distance is the one on a sphere; a document without coordinates is on the other side of it.
func (o *sorter) distance(f *SortField, columns [2]segment.NumberColumn, doc int32) float64 {
	longitude, ok := o.number(columns[0], doc)
	latitude, ok2 := o.number(columns[1], doc)
	if !ok || !ok2 {
		return math.Pi * f.Radius
	}
	const degree = math.Pi / 180
	dx, dy := (longitude-f.At[0])*degree, (latitude-f.At[1])*degree
	h := sq(math.Sin(dy/2)) + math.Cos(latitude*degree)*math.Cos(f.At[1]*degree)*sq(math.Sin(dx/2))
	return 2 * f.Radius * math.Asin(math.Sqrt(min(h, 1)))
}

func sq(v float64) float64 { return v * v }
