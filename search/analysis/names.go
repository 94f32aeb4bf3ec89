package analysis

import (
	"errors"
	"slices"
	"sync"
)

// Dialect is one of the two APIs, with the generation of Lucene behind it.
type Dialect uint8

const (
	// Clouseau is _search and Mango's text indexes: Lucene 4.6.
	Clouseau Dialect = iota
	// Nouveau is _nouveau: Lucene 9.
	Nouveau
)

// Version is the version of the tables and rules here. An index that was made with another one is
// built anew.
const Version = 2

// MaxTerm is the length in bytes of the longest term that an index takes. Only the keyword analyzer
// makes longer ones.
const MaxTerm = 32_766

// ErrUnknown says that there is no analyzer of a name.
var ErrUnknown = errors.New("no such analyzer")

// recipe makes an analyzer; nil stopWords stand for those of the language.
type recipe func(d Dialect, stopWords stopSet) *Analyzer

// recipes are all analyzers by name, with the APIs that have them.
var recipes = map[string]struct {
	make recipe
	// noStopWords: the analyzer has none, and ignores given ones.
	noStopWords bool
}{
	"keyword":             {make: keywordAnalyzer, noStopWords: true},
	"simple":              {make: simpleAnalyzer, noStopWords: true},
	"simple_asciifolding": {make: asciiFoldingAnalyzer, noStopWords: true},
	"whitespace":          {make: whitespaceAnalyzer, noStopWords: true},
	"standard":            {make: standardAnalyzer},
	"english":             {make: englishAnalyzer},
	"classic":             {make: classicAnalyzer},
	"email":               {make: emailAnalyzer},
	"chinese":             {make: chineseAnalyzer},
	"cjk":                 {make: cjkAnalyzer},
	"japanese":            {make: japaneseAnalyzer},
	"thai":                {make: thaiAnalyzer},
	"arabic":              {make: arabicAnalyzer},
	"bulgarian":           {make: language("bulgarian", ofRunes(bulgarianStem))},
	"czech":               {make: language("czech", ofRunes(czechStem))},
	"hindi":               {make: hindiAnalyzer},
	"indonesian":          {make: language("indonesian", ofRunes(indonesianStem))},
	"irish":               {make: irishAnalyzer},
	"latvian":             {make: language("latvian", ofRunes(latvianStem))},
	"persian":             {make: persianAnalyzer},
	"turkish":             {make: turkishAnalyzer},
	"armenian":            {make: language("armenian", cached(armenianStem))},
	"basque":              {make: language("basque", cached(basqueStem))},
	"brazilian":           {make: language("brazilian", cached(brazilianStem))},
	"catalan":             {make: elided("catalan", catalanArticles, cached(catalanStem))},
	"galician":            {make: language("galician", cached(galicianStem))},
	"greek":               {make: greekAnalyzer},
	"polish":              {make: language("polish")},
	"danish":              {make: language("danish", danishStems.step)},
	"dutch":               {make: language("dutch", dutchStem)},
	"finnish":             {make: language("finnish", finnishStems.step)},
	"french":              {make: elided("french", frenchArticles, ofRunes(frenchLight))},
	"german":              {make: germanAnalyzer},
	"hungarian":           {make: hungarianAnalyzer},
	"italian":             {make: elided("italian", italianArticles, ofRunes(italianLight))},
	"norwegian":           {make: language("norwegian", norwegianStems.step)},
	"portugese":           {make: language("portuguese", ofRunes(portugueseLight))},
	"portuguese":          {make: language("portuguese", ofRunes(portugueseLight))},
	"romanian":            {make: language("romanian", romanianStems.step)},
	"russian":             {make: language("russian", russianStems.step)},
	"spanish":             {make: language("spanish", ofRunes(spanishLight))},
	"swedish":             {make: language("swedish", swedishStems.step)},
}

type named struct {
	dialect Dialect
	name    string
}

var made sync.Map // named -> *Analyzer

// Lookup gives the analyzer of a name, and ErrUnknown if no analyzer has it.
func Lookup(d Dialect, name string) (*Analyzer, error) {
	key := named{d, name}
	if a, ok := made.Load(key); ok {
		return a.(*Analyzer), nil
	}
	r, ok := recipes[name]
	if !ok {
		return nil, ErrUnknown
	}
	a := r.make(d, nil)
	a.name = name
	kept, _ := made.LoadOrStore(key, a)
	return kept.(*Analyzer), nil
}

// LookupWith is the analyzer of a name with other stop words than its own. Analyzers that have none
// ignore them.
func LookupWith(d Dialect, name string, stopWords []string) (*Analyzer, error) {
	r, ok := recipes[name]
	if !ok || r.noStopWords {
		return Lookup(d, name)
	}
	a := r.make(d, newStopSet(stopWords))
	a.name = name
	return a, nil
}

// Names are the names of all analyzers, sorted, without perfield, which is made of others.
func Names() []string {
	var names []string
	for name := range recipes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// bounded says how long tokens may be, and what happens to longer ones in each generation.
func (a *Analyzer) bounded(d Dialect) *Analyzer {
	a.longest, a.dropLonger = 255, d == Clouseau
	return a
}

// words is an analyzer over words by Unicode's rules.
func words(d Dialect, steps ...step) *Analyzer {
	a := &Analyzer{split: splitStandard9, steps: steps, normal: []step{lowercase}}
	if d == Clouseau {
		a.split = splitStandard46
	}
	return a.bounded(d)
}

// or is the set of stop words, or that of a language.
func (set stopSet) or(language string) stopSet {
	if set == nil {
		return stopWords(language)
	}
	return set
}

func keywordAnalyzer(Dialect, stopSet) *Analyzer {
	return &Analyzer{split: splitNothing, longest: unlimited, empty: true}
}

func simpleAnalyzer(Dialect, stopSet) *Analyzer {
	return &Analyzer{split: splitLetters, longest: 255, steps: []step{lowercase}, normal: []step{lowercase}}
}

func whitespaceAnalyzer(Dialect, stopSet) *Analyzer {
	return &Analyzer{split: splitWhitespace, longest: 255}
}

// standardAnalyzer has no stop words in Lucene 9 (Nouveau), and the English ones before.
func standardAnalyzer(d Dialect, set stopSet) *Analyzer {
	if set == nil && d == Nouveau {
		return words(d, lowercase)
	}
	return words(d, lowercase, stop(set.or("english")))
}

func englishAnalyzer(d Dialect, set stopSet) *Analyzer {
	return words(d, possessive, lowercase, stop(set.or("english")), porter)
}
