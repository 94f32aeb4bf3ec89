// Package analysis makes terms of texts, as the analyzers of Apache Lucene do that CouchDB's two
// search servers offer: those of Lucene 4.6 for _search (Clouseau), of Lucene 9 for _nouveau
// (Nouveau). It knows no index, no request and no store.
//
// An [Analyzer] splits a text into tokens and takes each through a chain of steps: small letters,
// stop words, stems. What comes out are [Tokens]: terms with their positions and the bytes of the
// text that they were made of. [Lookup] finds an analyzer by name, [ClouseauSet] and [NouveauSet]
// those of the fields of an index.
//
//	analyzer.go    the analyzer, its loop over a text
//	tokens.go      what it gives
//	word.go        the term that is being made, as bytes or as characters
//	names.go       all analyzers by name
//	perfield.go    definitions of analyzers in design documents
//	standard.go    words by Unicode's rules; classes.go: the classes of characters that the rules are about
//	letters.go     runs of letters, of what is no space; the whole text
//	lowercase.go, folding.go, stop.go   steps that know no language, and stop words
//	stems.go       stemmers, and what they remember
//	classic.go, email.go, cjk.go   other rules for words: Lucene's old ones, addresses, pairs of characters
//	languages.go   the analyzers of languages: which steps, in which order
//	english.go     possessives, Porter's stemmer
//	snowball.go    stemmers of the Snowball project
//	light.go       stemmers that take little away; small.go: more of them
//	endings.go      stemmers whose rules are tables in files; greek.go: that for Greek
//	suffixes.go, elision.go   what they are made of; articles before words
//
// Invariants:
//  1. An Analyzer is never changed after it was made; all state of a text is in the Tokens.
//  2. Offsets are bytes of the text, at boundaries of characters, start before end but for the empty text as a keyword;
//     starts never go backwards.
//  3. No text makes a panic, or needs more memory than a multiple of its length.
//  4. Terms of one Version are equal for ever: whoever changes them raises it.
package analysis
