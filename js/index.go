package js

// SearchIndex says which of CouchDB's two search servers a program of index functions is for.
type SearchIndex uint8

// A program of map functions is for neither. Index functions call index() instead of emit(): in
// Clouseau's with a name, a value and options, in Nouveau's with the type of the field before them.
const (
	noSearchIndex SearchIndex = iota
	ClouseauIndex
	NouveauIndex
)

// NewIndexProgram makes a program of one index function. What it calls index() with are the rows of
// its results: a key [name, value] or [type, name, value], and the options as the value.
func NewIndexProgram(tenant string, of SearchIndex, source string) *MapProgram {
	p := &MapProgram{Tenant: tenant, Maps: []string{source}, index: of}
	p.encode()
	return p
}
