package query

// Node is a query or a part of one. Parse makes Group, Text, Prefix, Wildcard, Regexp, Fuzzy,
// Range, Intervals, All and Boost; Resolve makes of Group Bool, and of Text and Range also Term,
// Phrase, Number and NumRange.
type Node interface{ node() }

// Conj is the word before a clause.
type Conj uint8

// The words between clauses; None is two clauses side by side.
const (
	ConjNone Conj = iota
	ConjAnd
	ConjOr
)

// Mod is the sign of a clause.
type Mod uint8

// The signs: + and -, for which NOT and ! are other forms.
const (
	ModNone Mod = iota
	ModRequired
	ModProhibited
)

// Clause is a part of a group as it is written.
type Clause struct {
	// The conjunction with the clause before it, and the sign before the clause itself: +, - or
	// none.
	Conj Conj
	Mod  Mod
	Node Node
}

// Group is several clauses, or one with a sign. Min is the number in (…)@n.
type Group struct {
	Clauses []Clause
	Min     int
}

// Text is a word, or text in quotes, which is a phrase with the slop that is allowed.
type Text struct {
	Field, Text string
	Quoted      bool
	Slop        int
}

// Prefix holds for terms that begin with Text.
type Prefix struct{ Field, Text string }

// Wildcard holds for terms that match Pattern: * is any text, ? any character, \ makes the next
// character itself.
type Wildcard struct{ Field, Pattern string }

// Regexp holds for terms that match the regular expression from end to end.
type Regexp struct{ Field, Pattern string }

// Fuzzy holds for terms within a distance of Text. Edits below 1 is a similarity, see
// [Fuzzy.MaxEdits].
type Fuzzy struct {
	Field, Text string
	Edits       float32
}

// Range holds for terms from Lower to Upper, which are open or belong to the range or not.
type Range struct {
	Field                      string
	Lower, Upper               string
	LowerOpen, UpperOpen       bool
	LowerInclude, UpperInclude bool
}

// All holds for every document.
type All struct{}

// Boost multiplies the score of a node.
type Boost struct {
	Node   Node
	Factor float32
}

// Term holds for documents with the term in the field.
type Term struct{ Field, Term string }

// PhraseTerm is a term of a phrase. Terms with equal positions are alternatives.
type PhraseTerm struct {
	Term     string
	Position int
}

// Phrase holds for documents that have the terms at positions that differ as those of the phrase
// do, but for Slop. Terms are in the order of their positions.
type Phrase struct {
	Field string
	Terms []PhraseTerm
	Slop  int
}

// Number holds for documents with the number in the field, and scores as a term does (Clouseau
// indexes numbers so).
type Number struct {
	Field string
	Value float64
}

// NumRange holds for documents with a number in the range, and scores 1.
type NumRange struct {
	Field                  string
	Min, Max               float64
	MinInclude, MaxInclude bool
}

// Occur says what a clause means for its Bool.
type Occur uint8

// What a clause may be: Filter is required and adds no score.
const (
	Should Occur = iota
	Must
	MustNot
	Filter
)

// BoolClause is a clause of a Bool.
type BoolClause struct {
	Occur Occur
	Node  Node
}

// Bool holds for documents for which all Must and Filter clauses hold, no MustNot clause, and at
// least Min of the Should clauses; one of them if there is neither Must nor Filter. Prohibited
// clauses alone match no document, and so does a Bool without clauses. NoCoord is set where a Bool
// stands for one word.
type Bool struct {
	Clauses []BoolClause
	Min     int
	NoCoord bool
}

func (*Group) node()    {}
func (*Text) node()     {}
func (*Prefix) node()   {}
func (*Wildcard) node() {}
func (*Regexp) node()   {}
func (*Fuzzy) node()    {}
func (*Range) node()    {}
func (*All) node()      {}
func (*Boost) node()    {}
func (*Term) node()     {}
func (*Phrase) node()   {}
func (*Number) node()   {}
func (*NumRange) node() {}
func (*Bool) node()     {}

// most edits that a fuzzy term may ask for: automata for more are too large, in Lucene as well.
const mostEdits = 2

// MaxEdits is the number of edits that the term allows: a whole number, or as many as leave the
// similarity that a fraction below 1 asks for, in a term of this many characters; never more than
// 2.
func (f *Fuzzy) MaxEdits(characters int) int {
	switch {
	case f.Edits >= 1:
		return int(min(f.Edits, mostEdits))
	case f.Edits <= 0:
		return 0
	}
	return min(int((1-float64(f.Edits))*float64(characters)), mostEdits)
}
