package reduce

import (
	"bytes"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// stats is _stats. An aggregate is JSON: [sum,count,min,max,sumsqr], or an array of such for values
// that are arrays, at any depth.
type stats struct{}

// usualStat is a length in bytes that most aggregates stay below.
const usualStat = 64

// stat is the statistics of numbers, or of the places of arrays.
type stat struct {
	leaf                          bool
	sum, count, min, max, squares number
	items                         []stat
}

func (stats) kind() Kind { return KindStats }

func (stats) reduce(rows []Row) (Aggregate, error) {
	acc, err := reduceStats(rows)
	if err != nil {
		return nil, err
	}
	return acc.appendAggregate(make([]byte, 0, usualStat)), nil
}

// reduceStats reduces rows in their order. Integers at the beginning, in most indexes all rows,
// are added up without making values of them; from the first other value on each row is parsed.
// That does not change the result, since both add in one order.
func reduceStats(rows []Row) (acc stat, err error) {
	acc, done := integerStats(rows)
	p := ejson.AcquireParser()
	defer p.Release()
	for i := done; i < len(rows); i++ {
		v, err := p.Parse(rows[i].Value)
		if err != nil {
			return acc, corrupt("value")
		}
		if i == 0 {
			acc, err = firstStat(v, 0)
		} else {
			acc, err = addStat(v, acc)
		}
		if err != nil {
			return acc, err
		}
	}
	return acc, nil
}

// integerStats is reduceStats for the rows before the first that a tally cannot take.
func integerStats(rows []Row) (acc stat, done int) {
	var t, next Tally
	for ; done < len(rows); done++ {
		if next.Add(KindStats, rows[done].Value); next.inexact {
			break
		}
		t = next
	}
	return t.stat(), done
}

// firstStat is couch_query_servers:build_initial_accumulator.
func firstStat(v ejson.Value, depth int) (stat, error) {
	if n, ok := numberOf(v); ok {
		return statOf(n)
	}
	switch v.Kind() {
	case ejson.Array:
		if depth > maxDepth {
			return stat{}, compat.NewError(compat.KindUnknown, "value of _stats is too deep")
		}
		s := stat{items: make([]stat, 0, v.Len())}
		for e := range v.Elements() {
			item, err := firstStat(e, depth+1)
			if err != nil {
				return s, err
			}
			s.items = append(s.items, item)
		}
		return s, nil
	case ejson.Object:
		return readStat(v)
	}
	return stat{}, invalidStat("non-numeric _stats input: " + compat.RawTerm(v))
}

func statOf(n number) (stat, error) {
	squares, err := mul(n, n)
	return stat{leaf: true, sum: n, count: intNumber(1), min: n, max: n, squares: squares}, err
}

// addStat is couch_query_servers:stat_values for a value of a row.
func addStat(v ejson.Value, acc stat) (stat, error) {
	if n, ok := numberOf(v); ok {
		s, err := statOf(n)
		if err != nil {
			return acc, err
		}
		return mergeStats(s, acc)
	}
	switch v.Kind() {
	case ejson.Array:
		if acc.leaf {
			break
		}
		i := 0
		for e := range v.Elements() {
			if i == len(acc.items) {
				break
			}
			var err error
			if acc.items[i], err = addStat(e, acc.items[i]); err != nil {
				return acc, err
			}
			i++
		}
		if v.Len() != len(acc.items) {
			return acc, errFunctionClause
		}
		return acc, nil
	case ejson.Object:
		s, err := readStat(v)
		if err != nil {
			return acc, err
		}
		return mergeStats(s, acc)
	}
	return acc, unusableStat(v)
}

// mergeStats is couch_query_servers:stat_values for what is reduced already. acc may be changed.
func mergeStats(s, acc stat) (stat, error) {
	switch {
	case !s.leaf && !acc.leaf:
		if len(s.items) != len(acc.items) {
			return acc, errFunctionClause
		}
		for i := range s.items {
			var err error
			if acc.items[i], err = mergeStats(s.items[i], acc.items[i]); err != nil {
				return acc, err
			}
		}
		return acc, nil
	case s.leaf && acc.leaf:
		return mergeLeaves(s, acc)
	}
	return acc, unusableStats(&s)
}

// mergeLeaves joins the statistics of two groups of rows. Minimum and maximum keep s's number
// where both are equal, as the order of the arguments decides whether 1 or 1.0 is shown.
func mergeLeaves(s, acc stat) (out stat, err error) {
	out = stat{leaf: true, min: s.min, max: s.max}
	if out.sum, err = add(s.sum, acc.sum); err != nil {
		return out, err
	}
	if out.count, err = add(s.count, acc.count); err != nil {
		return out, err
	}
	if out.squares, err = add(s.squares, acc.squares); err != nil {
		return out, err
	}
	if compareNumbers(acc.min, s.min) < 0 {
		out.min = acc.min
	}
	if compareNumbers(acc.max, s.max) > 0 {
		out.max = acc.max
	}
	return out, nil
}

// rereduce joins aggregates in their order. Floats round differently in another one.
func (stats) rereduce(aggregates []Aggregate) (Aggregate, error) {
	acc, err := parseStat(aggregates[0])
	if err != nil {
		return nil, err
	}
	for _, a := range aggregates[1:] {
		s, err := parseStat(a)
		if err != nil {
			return nil, err
		}
		if acc, err = mergeStats(s, acc); err != nil {
			return nil, err
		}
	}
	return acc.appendAggregate(make([]byte, 0, usualStat)), nil
}

func (stats) finish(_ string, a Aggregate) ([]byte, error) {
	s, err := parseStat(a)
	if err != nil {
		return nil, err
	}
	return s.appendJSON(nil), nil
}

// parseStat reads an aggregate of _stats, the usual one of integers without a JSON parser.
func parseStat(a Aggregate) (stat, error) {
	if s, ok := parseIntegers(a); ok {
		return s, nil
	}
	v, err := ejson.Parse(a)
	if err != nil {
		return stat{}, corrupt("_stats")
	}
	return parseStatValue(v, 0)
}

// parseIntegers is parseStat for five integers of 64 bits.
func parseIntegers(a Aggregate) (stat, bool) {
	rest, ok := bytes.CutPrefix(a, []byte("["))
	if !ok {
		return stat{}, false
	}
	if rest, ok = bytes.CutSuffix(rest, []byte("]")); !ok {
		return stat{}, false
	}
	var numbers [5]number
	for i := range numbers {
		var text []byte
		var more bool
		text, rest, more = bytes.Cut(rest, []byte(","))
		n, ok := SmallInt(text)
		if !ok || more != (i < len(numbers)-1) {
			return stat{}, false
		}
		numbers[i] = intNumber(n)
	}
	return statOfNumbers(numbers), true
}

// parseStatValue reads an aggregate: five numbers in the order of statNames, or a list of such
// aggregates, to any depth, where the rows had lists. An empty list is the aggregate of empty
// lists. Anything else is kv.ErrCorrupt.
func parseStatValue(v ejson.Value, depth int) (s stat, err error) {
	if v.Kind() != ejson.Array || depth > maxDepth {
		return s, corrupt("_stats")
	}
	var numbers []number
	for e := range v.Elements() {
		if n, ok := numberOf(e); ok {
			numbers = append(numbers, n)
			continue
		}
		item, err := parseStatValue(e, depth+1)
		if err != nil {
			return s, err
		}
		s.items = append(s.items, item)
	}
	switch {
	case len(numbers) == 0:
		return s, nil
	case len(numbers) != 5 || len(s.items) > 0:
		return s, corrupt("_stats")
	}
	return statOfNumbers([5]number(numbers)), nil
}

// statOfNumbers is a stat of what statNames name.
func statOfNumbers(numbers [5]number) stat {
	return stat{
		leaf:    true,
		sum:     numbers[0],
		count:   numbers[1],
		min:     numbers[2],
		max:     numbers[3],
		squares: numbers[4],
	}
}

func (s *stat) numbers() [5]number { return [...]number{s.sum, s.count, s.min, s.max, s.squares} }

func (s *stat) appendAggregate(dst []byte) []byte {
	return s.appendEach(dst, (*stat).appendAggregate, func(dst []byte) []byte {
		for i, n := range s.numbers() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = n.appendJSON(dst)
		}
		return dst
	}, "[", "]")
}

var statNames = [5]string{"sum", "count", "min", "max", "sumsqr"}

// appendJSON appends what a client sees (couch_query_servers:pack_stats).
func (s *stat) appendJSON(dst []byte) []byte {
	return s.appendEach(dst, (*stat).appendJSON, func(dst []byte) []byte {
		for i, n := range s.numbers() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), statNames[i]...), `":`...)
			dst = n.appendJSON(dst)
		}
		return dst
	}, "{", "}")
}

// appendEach appends a list of items, or what leaf appends between begin and end.
func (s *stat) appendEach(
	dst []byte,
	item func(*stat, []byte) []byte,
	leaf func([]byte) []byte,
	begin, end string,
) []byte {
	if s.leaf {
		return append(leaf(append(dst, begin...)), end...)
	}
	dst = append(dst, '[')
	for i := range s.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(&s.items[i], dst)
	}
	return append(dst, ']')
}
