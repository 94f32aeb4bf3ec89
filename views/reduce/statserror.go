package reduce

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// CheckRows gives the error with which CouchDB fails the whole index when rows, in order of their
// keys, are written below a reduce function: only _stats does that
// (couch_query_servers:builtin_stats). nil is fine.
func CheckRows(source string, rows []Row) error {
	if Canonical(source) != "_stats" || len(rows) == 0 {
		return nil
	}
	_, err := reduceStats(rows)
	return err
}

// errFunctionClause is CouchDB's answer for arrays of different lengths; its reason is the trace of
// a process.
var errFunctionClause = compat.Named(compat.KindError, "function_clause",
	"arrays of different lengths below _stats").WithRef()

func invalidStat(reason string) error {
	return compat.Named(compat.KindError, "invalid_value", reason).WithRef()
}

// unusable is the error for what cannot be added, a printed term.
func unusable(term string) error {
	const reason = "The _stats function requires that map values be numbers or arrays of numbers, not '"
	return invalidStat(reason + term + "'")
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
			return stat{}, invalidStat(reason + members[1:len(members)-1] + ")")
		}
		n, ok := numberOf(member)
		if !ok {
			return stat{}, invalidStat("non-numeric _stats input received for " + name + ": " + compat.RawTerm(member))
		}
		numbers[i] = n
	}
	return statOfNumbers(numbers), nil
}
