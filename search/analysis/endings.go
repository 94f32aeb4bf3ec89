package analysis

import (
	"embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// This file has stemmers whose rules are tables in files: those of the Snowball project for
// Armenian, Basque and Catalan, and Lucene's for Brazilian Portuguese and Galician.

// stemFiles are the tables, a language a file. Lines that begin with # are comments.
//
//go:embed stems/*.txt
var stemFiles embed.FS

// stemTable are the lines of a table by stage: the words of each line, the words behind the name of
// the stage first. A stage may be there several times.
func stemTable(language string) map[string][][][]string {
	text, err := stemFiles.ReadFile("stems/" + language + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	table := map[string][][][]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "@"):
			name = fields[0][1:]
			table[name] = append(table[name], [][]string{fields[1:]})
		default:
			last := len(table[name]) - 1
			table[name][last] = append(table[name][last], fields)
		}
	}
	return table
}

// replacementOf is what a table says takes the place of an ending; - is nothing.
func replacementOf(s string) []rune {
	if s == "-" {
		return nil
	}
	return []rune(s)
}

// region is a part of a word up to its end, where an ending has to be.
type region uint8

const (
	regionAll region = iota
	regionV
	region1
	region2
)

var regionNames = map[string]region{"all": regionAll, "RV": regionV, "R1": region1, "R2": region2}

// regions are where the regions of a word begin.
type regions [4]int

// ending is a rule of a stage: what is put in the place of an ending in a region, with a letter
// before it.
type ending struct {
	suffix, by []rune
	in         region
	before     string
}

// endings are the rules of a stage, in the order of the table and by suffix.
type endings struct {
	list    []ending
	by      map[string]*ending
	longest int
}

// endingsOf reads a table: blocks that begin with their region and replacement, and lines of
// suffixes.
func endingsOf(blocks [][][]string) *endings {
	e := &endings{by: map[string]*ending{}}
	for _, block := range blocks {
		in, before, _ := strings.Cut(block[0][0], "<")
		for _, line := range block[1:] {
			for _, suffix := range line {
				e.list = append(e.list, ending{[]rune(suffix), replacementOf(block[0][1]), regionNames[in], before})
			}
		}
	}
	for i := range e.list {
		e.by[string(e.list[i].suffix)] = &e.list[i]
		e.longest = max(e.longest, len(e.list[i].suffix))
	}
	return e
}

// find is the rule for the longest ending that the word has behind from, if it is in its region: no
// shorter one takes its place.
func (e *endings) find(r []rune, from int, at *regions) (rule *ending, ok bool) {
	for n := min(e.longest, len(r)-from); n > 0; n-- {
		if rule := e.by[string(r[len(r)-n:])]; rule != nil {
			return rule, len(r)-n >= at[rule.in]
		}
	}
	return nil, false
}

// apply replaces that ending.
func (e *endings) apply(r []rune, from int, at *regions) ([]rune, bool) {
	rule, ok := e.find(r, from, at)
	if !ok {
		return r, false
	}
	return append(r[:len(r)-len(rule.suffix)], rule.by...), true
}

// applyFirst replaces the first ending of the table that the word has in its region.
func (e *endings) applyFirst(r []rune, at *regions) ([]rune, bool) {
	for i := range e.list {
		rule := &e.list[i]
		start := len(r) - len(rule.suffix)
		if hasSuffix(r, rule.suffix) && start >= at[rule.in] && endsWith(r[:start], rule.before) {
			return append(r[:start], rule.by...), true
		}
	}
	return r, false
}

// after is the place behind the first letter from i on that is a vowel, or none; the end of the
// word if there is none.
func after(r []rune, i int, vowels string, vowel bool) int {
	for ; i < len(r); i++ {
		if oneOf(r[i], vowels) == vowel {
			return i + 1
		}
	}
	return len(r) + 1
}

// afterBoth is the place behind the first letter that is no vowel and comes after one.
func afterBoth(r []rune, i int, vowels string) int {
	return after(r, after(r, i, vowels, true), vowels, false)
}

// snowballRegions are R1 and R2, the end of the word where there is none.
func snowballRegions(r []rune, vowels string) *regions {
	first := afterBoth(r, 0, vowels)
	return &regions{region1: min(first, len(r)), region2: min(afterBoth(r, first, vowels), len(r)), regionV: len(r)}
}

const armenianVowels = "աէիօւեոը"

var armenianStages = sync.OnceValue(func() (all []*endings) {
	table := stemTable("armenian")
	for _, name := range []string{"ending", "verb", "adjective", "noun"} {
		all = append(all, endingsOf(table[name]))
	}
	return all
})

// armenianStem runs the stages of Snowball's Armenian stemmer, which all work in the region RV; a
// word without that region stays as it is.
func armenianStem(r []rune) []rune {
	from := after(r, 0, armenianVowels, true)
	if from > len(r) {
		return r
	}
	second := afterBoth(r, after(r, from, armenianVowels, false), armenianVowels)
	at := &regions{regionV: from, region2: min(second, len(r))}
	for _, stage := range armenianStages() {
		r, _ = stage.apply(r, from, at)
	}
	return r
}

const basqueVowels = "aeiou"

var basqueStages = sync.OnceValue(func() (all []*endings) {
	table := stemTable("basque")
	for _, name := range []string{"verbs", "nouns", "adjectives"} {
		all = append(all, endingsOf(table[name]))
	}
	return all
})

// basqueStem goes on before what has taken the place of an ending.
func basqueStem(r []rune) []rune {
	at := snowballRegions(r, basqueVowels)
	at[regionV] = basqueV(r)
	stages := basqueStages()
	var behind []rune
	again := func(stage *endings) bool {
		rule, ok := stage.find(r, 0, at)
		if ok {
			r, behind = r[:len(r)-len(rule.suffix)], slices.Concat(rule.by, behind)
		}
		return ok
	}
	for _, stage := range stages[:2] {
		for again(stage) {
		}
	}
	again(stages[2])
	return append(r, behind...)
}

// basqueV is where the region RV begins.
func basqueV(r []rune) int {
	if len(r) < 2 {
		return len(r)
	}
	first, second := oneOf(r[0], basqueVowels), oneOf(r[1], basqueVowels)
	switch {
	case first && second:
		return min(after(r, 2, basqueVowels, false), len(r))
	case second:
		return min(3, len(r))
	}
	return min(after(r, 2, basqueVowels, true), len(r))
}

const catalanVowels = "aeiouáàéèíïóòúü"

var catalanStages = sync.OnceValue(func() map[string]*endings {
	all := map[string]*endings{}
	for name, blocks := range stemTable("catalan") {
		all[name] = endingsOf(blocks)
	}
	return all
})

var catalanLetters = replacement("àá", "a", "èé", "e", "ìíï", "i", "òó", "o", "úü", "u", "·", ".")

// catalanStem is Snowball's algorithm: attached pronouns, one of two kinds of endings, and what is
// left.
func catalanStem(r []rune) []rune {
	at, stages := snowballRegions(r, catalanVowels), catalanStages()
	r, _ = stages["pronoun"].apply(r, 0, at)
	var done bool
	if r, done = stages["standard"].apply(r, 0, at); !done {
		r, _ = stages["verb"].apply(r, 0, at)
	}
	r, _ = stages["residual"].apply(r, 0, at)
	return replaceLetters(r, catalanLetters)
}

const latinVowels = "aeiou"

var brazilianStages = sync.OnceValue(func() [2]*endings {
	table := stemTable("brazilian")
	return [2]*endings{endingsOf(table["standard"]), endingsOf(table["verb"])}
})

var brazilianLetters = replacement("áâã", "a", "éê", "e", "í", "i", "óôõ", "o", "úü", "u", "ç", "c", "ñ", "n")

// brazilianStem is BrazilianStemmer. Its regions are those of the word as it was, also when endings
// are gone, and end before its last letter.
func brazilianStem(r []rune) []rune {
	was := r
	r = replaceLetters(slices.Clone(r), brazilianLetters)
	if len(r) > 1 && oneOf(r[0], `"'-,;.?!`) {
		r = r[1:]
	}
	if len(r) > 1 && oneOf(r[len(r)-1], `"'-,;.?!`) {
		r = r[:len(r)-1]
	}
	if len(r) < 3 || len(r) >= 30 {
		return was
	}
	for _, c := range r {
		if !unicode.IsLetter(c) || c > 0xFFFF {
			return r
		}
	}
	return brazilianEndings(r)
}

// brazilianEndings cuts the endings off a word whose accents are gone, in the stages of Lucene's
// BrazilianStemmer. The region RV is taken once, from the whole word, and is not shortened with it:
// the original keeps its copy too, and terms must be the same.
func brazilianEndings(r []rune) []rune {
	whole := slices.Clone(r)
	at := &regions{region1: innerAfterBoth(r, 0), regionV: brazilianV(r)}
	at[region2] = innerAfterBoth(r, at[region1])
	v := whole[min(at[regionV], len(whole)):]
	stages := brazilianStages()
	r, done := stages[0].applyFirst(r, at)
	if !done {
		r, done = stages[1].applyFirst(r, at)
	}
	cut := func(suffix string) {
		if endsWith(r, suffix) {
			r = r[:len(r)-len(suffix)]
		}
	}
	if done {
		if endsWith(v, "ci") {
			cut("i")
		}
	} else {
		for _, suffix := range []string{"os", "a", "i", "o"} {
			if endsWith(v, suffix) {
				cut(suffix)
				break
			}
		}
	}
	if !endsWith(v, "e") {
		return r
	}
	cut("e")
	switch {
	case endsWith(v, "gue"):
		cut("u")
	case endsWith(v, "cie"):
		cut("i")
	}
	return r
}

// nowhere is the begin of a region that no word has.
const nowhere = 1 << 30

// innerAfter is after in a word without its last letter.
func innerAfter(r []rune, i int, vowel bool) int {
	for ; i < len(r)-1; i++ {
		if oneOf(r[i], latinVowels) == vowel {
			return i + 1
		}
	}
	return nowhere
}

// innerAfterBoth is the place behind a letter that is no vowel and comes after a vowel.
func innerAfterBoth(r []rune, i int) int {
	if i = innerAfter(r, i, true); i == nowhere {
		return nowhere
	}
	return innerAfter(r, i, false)
}

// brazilianV is where the region RV begins, as Lucene's BrazilianStemmer finds it.
func brazilianV(r []rune) int {
	if !oneOf(r[1], latinVowels) {
		if v := innerAfter(r, 2, true); v != nowhere {
			return v
		}
	}
	if oneOf(r[0], latinVowels) && oneOf(r[1], latinVowels) {
		if v := innerAfter(r, 2, false); v != nowhere {
			return v
		}
	}
	if len(r) > 3 {
		return 3
	}
	return nowhere
}

// rslpStage is a stage of a stemmer in the form of RSLP, for words of a length that have one of
// some endings.
type rslpStage struct {
	least int
	only  [][]rune
	rules []rslpRule
}

type rslpRule struct {
	suffix, by []rune
	least      int // letters before the suffix
	whole      bool
	except     []string // words that the rule is not for, or their ends
}

// rslpStageOf reads a stage: how many letters a word needs for it, how its exceptions are compared,
// and its rules.
func rslpStageOf(block [][]string) *rslpStage {
	s := &rslpStage{}
	s.least, _ = strconv.Atoi(block[0][0])
	for _, suffix := range block[0][2:] {
		s.only = append(s.only, []rune(suffix))
	}
	for _, line := range block[1:] {
		rule := rslpRule{suffix: []rune(line[0]), by: replacementOf(line[2]), whole: block[0][1] == "whole",
			except: line[3:]}
		rule.least, _ = strconv.Atoi(line[1])
		s.rules = append(s.rules, rule)
	}
	return s
}

// apply carries out the first rule that fits.
func (s *rslpStage) apply(r []rune) []rune {
	if len(r) < s.least || len(s.only) > 0 &&
		!slices.ContainsFunc(s.only, func(suffix []rune) bool { return hasSuffix(r, suffix) }) {
		return r
	}
	for i := range s.rules {
		if rule := &s.rules[i]; rule.fits(r) {
			return append(r[:len(r)-len(rule.suffix)], rule.by...)
		}
	}
	return r
}

// fits reports whether enough letters are left before the suffix, and the word is no exception.
func (rule *rslpRule) fits(r []rune) bool {
	if len(r)-len(rule.suffix) < rule.least || !hasSuffix(r, rule.suffix) {
		return false
	}
	if rule.whole {
		return !slices.Contains(rule.except, string(r))
	}
	return !slices.ContainsFunc(rule.except, func(end string) bool { return endsWith(r, end) })
}

var galicianStages = sync.OnceValue(func() map[string]*rslpStage {
	all := map[string]*rslpStage{}
	for name, blocks := range stemTable("galician") {
		all[name] = rslpStageOf(blocks[0])
	}
	return all
})

var galicianLetters = replacement("á", "a", "éê", "e", "í", "i", "ó", "o", "ú", "u")

// galicianStem runs the stages of Lucene's GalicianStemmer. Augmentatives may be stacked, so that
// their stage runs until it finds no more; verbs are only tried where no noun's ending was cut.
func galicianStem(r []rune) []rune {
	s := galicianStages()
	r = s["Adverb"].apply(s["Unification"].apply(s["Plural"].apply(r)))
	for n := -1; n != len(r); {
		n = len(r)
		r = s["Augmentative"].apply(r)
	}
	n := len(r)
	if r = s["Noun"].apply(r); len(r) == n {
		r = s["Verb"].apply(r)
	}
	return replaceLetters(s["Vowel"].apply(r), galicianLetters)
}
