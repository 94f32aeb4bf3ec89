package reduce

import (
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// CheckRows gives the error with which CouchDB fails the whole index when rows, in order of their keys, are written
// below a reduce function: only _stats does that (couch_query_servers:builtin_stats). nil is fine.
func CheckRows(source string, rows []Row) error {
	if Canonical(source) != "_stats" || len(rows) == 0 {
		return nil
	}
	_, err := reduceStats(rows)
	return err
}

// errFunctionClause is what CouchDB answers for arrays of different lengths; its reason is the trace of a process.
var errFunctionClause = compat.Named(compat.KindError, "function_clause",
	"arrays of different lengths below _stats").WithRef()

func invalidStat(reason string) error {
	return compat.Named(compat.KindError, "invalid_value", reason).WithRef()
}

// unusable is the error for what cannot be added, a printed term.
func unusable(term string) error {
	const reason = "The _stats function requires that map values be numbers or arrays of numbers, not '"
	return invalidStat(reason + compat.BreakTerm(term, len(reason)+1) + "'")
}

// unusableStat is the error for a value that cannot be added.
func unusableStat(v ejson.Value) error { return unusable(compat.ErlangTerm(v)) }

// unusableStats is that for a number where a list was expected, and the other way round.
func unusableStats(s *stat) error { return unusable(string(s.appendTerm(nil))) }

// appendTerm prints an accumulator.
func (s *stat) appendTerm(dst []byte) []byte {
	separator := ""
	if s.leaf {
		dst = append(dst, '{')
		for _, n := range s.numbers() {
			dst = n.appendJSON(append(dst, separator...))
			separator = ","
		}
		return append(dst, '}')
	}
	dst = append(dst, '[')
	for i := range s.items {
		dst = s.items[i].appendTerm(append(dst, separator...))
		separator = ","
	}
	return append(dst, ']')
}

// readStat reads statistics that a map function emitted (couch_query_servers:unpack_stats).
func readStat(v ejson.Value) (stat, error) {
	var numbers [5]number
	for i, name := range statNames {
		member, found := v.Get(name)
		if !found {
			reason := "user _stats input missing required field " + name + " ("
			members := compat.ErlangTerm(v) // in braces
			return stat{}, invalidStat(reason + compat.BreakTerm(members[1:len(members)-1], len(reason)+1) + ")")
		}
		n, ok := numberOf(member)
		if !ok {
			return stat{}, invalidStat("non-numeric _stats input received for " + name + ": " + termText(member))
		}
		numbers[i] = n
	}
	return statOfNumbers(numbers), nil
}

// termText prints a value as io_lib's ~w prints its term.
func termText(v ejson.Value) string { return string(appendTermText(nil, v, 0)) }

func appendTermText(dst []byte, v ejson.Value, depth int) []byte {
	if depth > maxDepth {
		return append(dst, "..."...)
	}
	separator := ""
	switch v.Kind() {
	case ejson.String:
		return appendBinaryText(dst, v)
	case ejson.Array:
		dst = append(dst, '[')
		for e := range v.Elements() {
			dst = appendTermText(append(dst, separator...), e, depth+1)
			separator = ","
		}
		return append(dst, ']')
	case ejson.Object:
		dst = append(dst, "{["...)
		for name, value := range v.Members() {
			dst = appendBinaryText(append(append(dst, separator...), '{'), name)
			dst = append(appendTermText(append(dst, ','), value, depth+1), '}')
			separator = ","
		}
		return append(dst, "]}"...)
	}
	return v.AppendJSON(dst)
}

func appendBinaryText(dst []byte, v ejson.Value) []byte {
	dst = append(dst, "<<"...)
	for i, c := range []byte(v.Text()) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return append(dst, ">>"...)
}
