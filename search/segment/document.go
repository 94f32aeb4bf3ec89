package segment

// Document is the analysed form of a document, which the log and the segments hold.
type Document struct {
	ID     string
	Fields []Field // by name, each once
	// Values that are given back with a hit, in the order in which the document gave them.
	Stored []Stored
}

// Field is the content of one field of a document.
type Field struct {
	Name string
	// Terms are the terms of the field, ascending, each once.
	Terms []Term
	// Length is how many tokens the field has; the average over all documents is part of scores.
	Length int32
	// Positions says that terms have positions, so that phrases find them. Without, a term counts
	// once.
	Positions bool
	// Norm is the length of the field and its boost as one byte, if HasNorm.
	Norm    byte
	HasNorm bool
	// Numbers are the numbers of the field, ascending.
	Numbers []float64
	// Strings are the values that are counted (facets) and, in an index of Nouveau's kind, sorted
	// by: ascending, each once.
	Strings []string
	// Sort is the text to sort by in an index of Clouseau's kind, the greatest term, if HasSort.
	Sort    string
	HasSort bool
}

// Term is a term of a field with its positions, ascending; without positions it has none.
type Term struct {
	Term string
	// Ascending; of a term of a field without positions there is one for the count.
	Positions []int32
}

// Stored is a value that hits show: a text or a number.
type Stored struct {
	Name     string
	Text     string
	Number   float64
	IsNumber bool
}

// Identity is the sequence of the commit that indexed a document, in bytes that sort as sequences
// do. It names a document in an index for ever, however its segments are merged.
type Identity string
