package definition

import (
	"slices"
	"strings"
)

// Flow is where changes come from and go to by a function.
type Flow struct {
	Ref    Ref
	Source string
	// Writes are databases bound to be written, Queries those that statements in the code write.
	Writes, Queries []string
}

// Flow is the function's, whose statements write to the databases queries.
func (f *Function) Flow(queries []string) Flow {
	return Flow{Ref: f.Ref(), Source: f.Bindings.SourceBucket, Writes: f.Writes(), Queries: queries}
}

// writes reports whether changes come to a database.
func (f *Flow) writes(db string) bool {
	return slices.Contains(f.Writes, db) || slices.Contains(f.Queries, db)
}

// CheckRecursion refuses a function that would, with those that are deployed, never come to an end:
// one whose statements write to its source; one that writes to its source as another function of
// the same source does; one whose writes come back to its source by way of others. A function's own
// writes to its source do not come back to it.
func CheckRecursion(f Flow, deployed []Flow) error {
	if slices.Contains(f.Queries, f.Source) {
		return Errorf(CodeDatabaseRecursion, "Function: %s has statements that write to its source %s", f.Ref, f.Source)
	}
	others := slices.DeleteFunc(slices.Clone(deployed), func(g Flow) bool { return g.Ref == f.Ref })
	for _, g := range others {
		if g.Source == f.Source && f.writes(f.Source) && g.writes(f.Source) {
			return Errorf(CodeFunctionRecursion, "Function: %s and the deployed function %s have the same source %s "+
				"and both write to it", f.Ref, g.Ref, f.Source)
		}
	}
	if path := wayBack(f, others); path != nil {
		return Errorf(CodeDatabaseRecursion, "Function: %s would start a cycle: %s", f.Ref, strings.Join(path, " -> "))
	}
	return nil
}

// wayBack finds a way from what f writes to its source, nil if there is none.
func wayBack(f Flow, others []Flow) []string {
	came := map[string]string{} // from which database one was reached
	next := f.leadsTo(f.Source)
	for _, db := range next {
		came[db] = f.Source
	}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, g := range others {
			for _, to := range g.leadsTo(from) {
				if to == f.Source {
					return wayTo(from, f.Source, came)
				}
				if _, seen := came[to]; !seen {
					came[to] = from
					next = append(next, to)
				}
			}
		}
	}
	return nil
}

// leadsTo are the other databases that changes of one come to by the function.
func (f *Flow) leadsTo(from string) []string {
	if f.Source != from {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(f.Writes, f.Queries), func(db string) bool { return db == from })
}

// wayTo is the way from source to last and back.
func wayTo(last, source string, came map[string]string) []string {
	path := []string{source}
	for db := last; db != source; db = came[db] {
		path = append(path, db)
	}
	path = append(path, source)
	slices.Reverse(path)
	return path
}
