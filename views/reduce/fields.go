package reduce

import (
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// Fields is the source of a function that no design document can name: views gives it to JSON
// indexes whose rows have the values of fields. It has the statistics of each field.
const Fields = "_fields"

// MaxFields is how many fields count; what a row has besides is passed over.
const MaxFields = 16

// maxDigits is the length of the longest number that is added up. It bounds aggregates: there the
// sum of squares is about twice as long. All doubles are shorter.
const maxDigits = 64

// fields is the function Fields. The value of a row is an array with an element for each field:
// null where the document has no such field, false where that is no number (FieldValue). An
// aggregate is JSON: [rows, field, …], a field as [others, sum, count, min, max, sumsqr], as
// [others] where there are no numbers, and as null where the statistics cannot be had, as beyond
// the doubles.
type fields struct{}

// FieldValue gives a field's value as rows have it: a number, or null where there is none (kind
// Invalid), false for what is no number, and true for a number that is not added up.
func FieldValue(dst []byte, v ejson.Value) []byte {
	begin := len(dst)
	switch v.Kind() {
	case ejson.Invalid:
		return append(dst, "null"...)
	case ejson.Int, ejson.Double:
		if dst = v.AppendJSON(dst); len(dst)-begin <= maxDigits {
			return dst
		}
		return append(dst[:begin], "true"...)
	}
	return append(dst, "false"...)
}

// field has the statistics of one field.
type field struct {
	unknown bool
	others  int64 // documents in which it is there and no number
	numbers stat  // no leaf: none
}

func (fields) kind() Kind { return KindOther }

// reduce joins the values of rows, field by field. A field that an earlier row lacks is unknown,
// and one that a later row lacks is left out.
func (fields) reduce(rows []Row) (Aggregate, error) {
	p := ejson.AcquireParser()
	defer p.Release()
	var list []field
	for i := range rows {
		v, err := p.Parse(rows[i].Value)
		if err != nil {
			return nil, corrupt(Fields)
		}
		n := 0
		for e := range v.Elements() {
			if n == MaxFields {
				break
			}
			if n == len(list) {
				list = append(list, field{unknown: i > 0}) // the rows before have none
			}
			one := fieldOf(e)
			list[n].join(&one)
			n++
		}
		list = list[:n]
	}
	return appendFields(nil, int64(len(rows)), list), nil
}

// fieldOf is the statistics of a single row; see FieldValue for the forms of the value.
func fieldOf(v ejson.Value) (f field) {
	n, isNumber := numberOf(v)
	switch {
	case isNumber:
		var err error
		f.numbers, err = statOf(n)
		f.unknown = err != nil
	case v.IsNull():
	default:
		b, _ := v.Bool()
		f.unknown, f.others = b, 1
	}
	return f
}

// join adds what is known of other documents. What cannot be added up is unknown from then on.
func (f *field) join(other *field) {
	f.others += other.others
	f.unknown = f.unknown || other.unknown
	switch {
	case f.unknown || !other.numbers.leaf:
	case !f.numbers.leaf:
		f.numbers = other.numbers
	default:
		var err error
		f.numbers, err = mergeLeaves(other.numbers, f.numbers)
		f.unknown = err != nil
	}
}

// rereduce joins the statistics of each field that all aggregates have.
func (fields) rereduce(aggregates []Aggregate) (Aggregate, error) {
	rows, list, err := parseFields(aggregates[0])
	if err != nil {
		return nil, err
	}
	for _, a := range aggregates[1:] {
		n, more, err := parseFields(a)
		if err != nil {
			return nil, err
		}
		rows += n
		list = list[:min(len(list), len(more))]
		for i := range list {
			list[i].join(&more[i])
		}
	}
	return appendFields(nil, rows, list), nil
}

func (fields) finish(_ string, a Aggregate) ([]byte, error) { return a, nil }

func appendFields(dst []byte, rows int64, list []field) []byte {
	dst = strconv.AppendInt(append(dst, '['), rows, 10)
	for i := range list {
		f := &list[i]
		if f.unknown {
			dst = append(dst, ",null"...)
			continue
		}
		dst = strconv.AppendInt(append(dst, ",["...), f.others, 10)
		if f.numbers.leaf {
			for _, n := range f.numbers.numbers() {
				dst = n.appendJSON(append(dst, ','))
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// parseFields reads an aggregate; one that no code of ours writes is kv.ErrCorrupt.
func parseFields(a Aggregate) (rows int64, list []field, err error) {
	v, err := ejson.Parse(a)
	if err != nil || v.Kind() != ejson.Array || v.Len() == 0 {
		return 0, nil, corrupt(Fields)
	}
	elements := v.Children()
	first, _ := elements.Next()
	rows, ok := first.Int()
	for e, more := elements.Next(); more && ok; e, more = elements.Next() {
		if e.IsNull() {
			list = append(list, field{unknown: true})
			continue
		}
		var f field
		var numbers []number
		parts := e.Children()
		others, _ := parts.Next()
		f.others, ok = others.Int()
		for p, more := parts.Next(); more && ok; p, more = parts.Next() {
			var n number
			n, ok = numberOf(p)
			numbers = append(numbers, n)
		}
		switch {
		case ok && len(numbers) == len(statNames):
			f.numbers = statOfNumbers([5]number(numbers))
		case len(numbers) > 0:
			ok = false
		}
		list = append(list, f)
	}
	if !ok {
		return 0, nil, corrupt(Fields)
	}
	return rows, list, nil
}

// FieldStats are the statistics of one field in an aggregate of Fields.
type FieldStats struct {
	Unknown bool
	Others  int64 // documents in which the field is there and no number
	Count   int64 // numbers
	// Of the numbers, if there are any: aggregates of _sum and _stats, and JSON.
	Sum, Stats Aggregate
	Min, Max   []byte
}

// ParseFields reads a finished value of the function Fields: the number of rows, and the fields.
func ParseFields(json []byte) (rows int64, list []FieldStats, err error) {
	rows, parsed, err := parseFields(json)
	if err != nil {
		return 0, nil, err
	}
	for i := range parsed {
		f := &parsed[i]
		s := FieldStats{Unknown: f.unknown, Others: f.others}
		if n := &f.numbers; n.leaf {
			s.Count = n.count.i
			s.Sum, s.Stats = n.sum.appendJSON(nil), n.appendAggregate(nil)
			s.Min, s.Max = n.min.appendJSON(nil), n.max.appendJSON(nil)
		}
		list = append(list, s)
	}
	return rows, list, nil
}
