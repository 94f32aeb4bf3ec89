package analysis

// This file puts the analyzers of languages together, each step in the order in which Lucene has it.

// language is an analyzer that drops stop words after making letters small.
func language(name string, steps ...step) recipe {
	return func(d Dialect, set stopSet) *Analyzer {
		all := append([]step{lowercase, stop(set.or(name))}, steps...)
		return words(d, all...)
	}
}

// elided is one with articles before the words.
func elided(name string, articles []string, steps ...step) recipe {
	return func(d Dialect, set stopSet) *Analyzer {
		all := append([]step{elision(articles...), lowercase, stop(set.or(name))}, steps...)
		return words(d, all...)
	}
}

var (
	frenchArticles = []string{"l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"}

	italianArticles = []string{"c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl",
		"degl", "negl", "sugl", "un", "m", "t", "s", "v", "d"}
	catalanArticles = []string{"d", "l", "m", "n", "s", "t"}
	irishArticles   = []string{"d", "m", "b"}
)

func germanAnalyzer(d Dialect, set stopSet) *Analyzer {
	a := words(d, lowercase, stop(set.or("german")), germanNormal, ofRunes(germanLight))
	a.normal = append(a.normal, germanNormal)
	return a
}
